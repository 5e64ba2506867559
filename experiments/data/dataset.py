"""The result of every loader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd


@dataclass(frozen=True)
class Dataset:
    """Real data, ready for a fit.

    Attributes
    ----------
    X : (N, M) numbers
    y : (N,) outcome, numbers or words
    features, samples : M and N names
    about_features, about_samples : data frames
        Annotations, in the same order (possibly without columns).
    truth : indices of the true features if known, else None

    Examples
    --------
    >>> none = pd.DataFrame(index=range(2))
    >>> Dataset(np.eye(2), np.array([0, 1]), ("a", "b"), ("1", "2"), none, none).X.shape
    (2, 2)
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    features: tuple[str, ...]
    samples: tuple[str, ...]
    about_features: pd.DataFrame
    about_samples: pd.DataFrame
    truth: npt.NDArray[np.intp] | None = None
