"""Outcomes that must be numbers."""

from typing import Any

import numpy as np
import pandas as pd

from ..checks import check_rows
from ..types import FloatArray


def numbers(values: Any, what: str) -> FloatArray:
    """Numbers (N,), with NaN for missing ones; words are rejected.

    >>> numbers([1, "2"], "time")
    array([1., 2.])
    """
    given = np.asarray(values).ravel()
    found = np.asarray(pd.to_numeric(pd.Series(given), errors="coerce"), dtype=np.float64)
    right = ~np.isnan(found) | pd.isna(given)
    check_rows(right, what, "be a number", lambda i: repr(given[i : i + 1].tolist()[0]))
    return found
