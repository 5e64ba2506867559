"""The parameters that all estimators share, as a validated value."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from ..checks import is_number, is_whole

LARGEST_DIVERSITY = 1000  # chains agree with enumeration up to here; at 10,000 odds beyond e^300 matter
CHOICES = ("prediction", "probability")


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters, documented in `documented.py`. Rejects values that are wrong for any data."""

    similarity: Any
    diversity: float
    expected_size: float | None
    n_features_to_select: float | None
    choose: str
    fixed_size: bool
    average: bool
    slab_precision: float | str
    always_include: Any
    groups: Any
    prior_log_odds: Any
    screen: int | None
    max_iter: int | None
    tol: float | None
    random_state: Any
    verbose: int

    @classmethod
    def of(cls, estimator: BaseEstimator) -> Self:
        """Take the current parameters of an estimator."""
        given = estimator.get_params(deep=False)
        return cls(**{field.name: given[field.name] for field in fields(cls)})

    def __post_init__(self) -> None:
        self._check_diversity()
        self._check_sizes()
        self._check_stopping()

    def _check_diversity(self) -> None:
        if not (is_number(self.diversity) and 0 <= self.diversity <= LARGEST_DIVERSITY):
            raise ValueError(
                f"diversity must be a number from 0 to {LARGEST_DIVERSITY}, got {self.diversity!r}; 10 "
                "is already large."
            )

    def _check_sizes(self) -> None:
        _check_positive("slab_precision", self.slab_precision, "auto")
        _check_positive("expected_size", self.expected_size, None)
        for name, value in (("fixed_size", self.fixed_size), ("average", self.average)):
            if not isinstance(value, bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {value!r}.")
        if not (isinstance(self.choose, str) and self.choose in CHOICES):
            raise ValueError(f'choose must be "prediction" or "probability", got {self.choose!r}.')
        if self.fixed_size and self.n_features_to_select is None:
            raise ValueError("fixed_size=True needs a size; give n_features_to_select.")
        if self.screen is not None and not (is_whole(self.screen) and self.screen >= 1):
            raise ValueError(f"screen must be a number of columns to start with, got {self.screen!r}.")

    def _check_stopping(self) -> None:
        if self.max_iter is not None and not (is_whole(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number, at least 1, got {self.max_iter!r}.")
        if self.tol is not None and not (is_number(self.tol) and self.tol >= 0):
            raise ValueError(f"tol must be a non-negative number, got {self.tol!r}.")
        if self.tol == 0:
            raise ValueError(f"tol must be above zero, got {self.tol!r}; the chain would never stop.")


def _check_positive(name: str, value: Any, learned: str | None) -> None:
    """Require a number above zero, or the word for "to be learned"."""
    if value is None if learned is None else isinstance(value, str) and value == learned:
        return
    if not (is_number(value) and value > 0):
        raise ValueError(f"{name} must be {learned!r} or a number above zero, got {value!r}.")
