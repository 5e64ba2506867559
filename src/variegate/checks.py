"""Checks of single arguments."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd


class WrongOutcome(ValueError):
    """An outcome is not valid; says what is wrong, and in which row first if it is about rows.

    >>> str(WrongOutcome("time", "must not be negative, got -1", 3))
    'time in row 3 must not be negative, got -1'
    """

    def __init__(self, what: str, must: str, row: int | None = None) -> None:
        super().__init__(what, must, row)
        self.what, self.must, self.row = what, must, row

    def __str__(self) -> str:
        return f"{self.what}{'' if self.row is None else f' in row {self.row}'} {self.must}"


def check_rows(right: npt.NDArray[np.bool_], what: str, must: str, got: Callable[[int], Any], then: str = "") -> None:
    """Raise unless every row (N,) is right; `got` returns the value of a row."""
    if not right.all():
        row, wrong = int(right.argmin()), int((~right).sum())
        value = got(row)
        value = value if isinstance(value, str) else f"{value:g}"
        more = f" ({wrong} such rows)" if wrong > 1 else ""
        raise WrongOutcome(what, f"must {must}, got {value}{more}{then}", row)


def check_labels(X: Any) -> None:
    """Raise if the columns of a frame have labels of several parts, or share one.

    >>> check_labels(pd.DataFrame([[1, 2, 3]], columns=["age", "dose", "age"]))
    Traceback (most recent call last):
        ...
    ValueError: The columns of X must have different names, got 'age' for numbers 0, 2; rename or drop one.
    """
    if not hasattr(X, "columns") or callable(X.columns):  # a table read in blocks has a method of that name
        return
    labels = X.columns if isinstance(X.columns, pd.Index) else pd.Index(X.columns)
    if labels.nlevels > 1:
        example = tuple(map(str, labels[0]))
        raise ValueError(
            f"The columns of X must have one name each, got a MultiIndex such as {example}; join its parts, as in "
            'X.columns = [" ".join(map(str, parts)) for parts in X.columns].'
        )
    if labels.has_duplicates:
        label = labels[labels.duplicated()].tolist()[0]
        which = ", ".join(map(str, labels.get_indexer_for([label])[:5]))
        raise ValueError(
            f"The columns of X must have different names, got {label!r} for numbers {which}; rename or drop one."
        )


def is_number(value: Any) -> bool:
    """Whether it is a finite real number; booleans are rejected."""
    return isinstance(value, Real) and value is not True and value is not False and bool(np.isfinite(float(value)))


def is_whole(value: Any) -> bool:
    """Whether it is a whole number; booleans are rejected."""
    return isinstance(value, Integral) and value is not True and value is not False


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return the generator for `rng`; None is seed 0, so that every run gives the same result."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(0 if rng is None else rng)


def check_share(value: float, what: str) -> None:
    """Raise unless 0 ≤ value < 1."""
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 <= value < 1:
        raise ValueError(f"{what} must be at least 0 and below 1, got {value!r}")
