"""Checks of single arguments."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """Whether it is a finite real number; booleans are rejected."""
    return isinstance(value, Real) and value is not True and value is not False and bool(np.isfinite(float(value)))


def is_whole(value: Any) -> bool:
    """Whether it is a whole number; booleans are rejected."""
    return isinstance(value, Integral) and value is not True and value is not False


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return the generator meant by `rng`; None means seed 0, so that every run gives the same result."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(0 if rng is None else rng)


def check_share(value: float, what: str) -> None:
    """Raise unless `value` is a number of at least 0 and below 1."""
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 <= value < 1:
        raise ValueError(f"{what} must be at least 0 and below 1, got {value!r}")
