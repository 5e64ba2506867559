"""Columns in groups, which are in the model together or not at all."""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..types import FloatArray, IntArray
from .probe import Probe
from .protocol import (
    Coefficients,
    FlipGains,
    Predictive,
    Predictor,
    QuadraticForm,
    QuadraticLikelihood,
)


class Grouped:
    """A likelihood over units of columns: log p(y | S) = log p(y | columns of the units in S).

    A unit of one column has the flip gain of that column. For a unit of several columns, the gain is a difference of
    log evidences, so every set costs one more evidence for each such unit: meant for dozens of one-hot factors.

    Parameters
    ----------
    likelihood : over M columns, with flip gains, coefficients and predictions
    unit : (M,) the unit of each column, numbered 0, 1, …

    >>> from variegate.likelihoods import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> grouped = Grouped(Gaussian(X, y), np.array([0, 0, 1, 1]))  # columns 0 and 1 are one unit, 2 and 3 another
    >>> grouped.n_features, grouped.columns(np.array([1]))
    (2, array([2, 3]))
    """

    def __init__(self, likelihood: Any, unit: Any) -> None:
        numbers = np.asarray(unit)
        whole = numbers.shape == (likelihood.n_features,) and numbers.dtype.kind in "iu"
        if not whole or not np.array_equal(np.unique(numbers), np.arange(len(np.unique(numbers)))):
            raise ValueError(
                f"unit must number the unit of each of the {likelihood.n_features} columns as 0, 1, …, without gaps."
            )
        self.likelihood = likelihood
        order = np.argsort(numbers, kind="stable")
        self._units = np.split(order, np.cumsum(np.bincount(numbers))[:-1])
        self._several = np.array([g for g, columns in enumerate(self._units) if len(columns) > 1], dtype=np.int64)
        self._first = np.array([columns[0] for columns in self._units], dtype=np.int64)

    @property
    def n_features(self) -> int:
        """Number of units."""
        return len(self._units)

    @property
    def exact_gains(self) -> bool:
        """Whether gains equal differences of log evidence."""
        return bool(self.likelihood.exact_gains)

    @property
    def slab_precision(self) -> float:
        """Prior precision of a coefficient of a standardised column."""
        return float(self.likelihood.slab_precision)

    def with_slab_precision(self, c: float) -> Self:
        """Return the same units with another slab precision."""
        return self._over(self.likelihood.with_slab_precision(c))

    @property
    def nuisance(self) -> float:
        """Nuisance parameter of the columns' likelihood."""
        return float(self.likelihood.nuisance)

    def with_nuisance(self, value: float) -> Self:
        """Return the same units with another nuisance parameter."""
        return self._over(self.likelihood.with_nuisance(value))

    def roughly(self, rough: bool) -> Self:
        """Return the same units with the likelihood as precise as a fit needs it, or as users do."""
        return self._over(self.likelihood.roughly(rough))

    def _over(self, likelihood: Any) -> Self:
        twin = copy.copy(self)
        twin.likelihood = likelihood
        return twin

    def columns(self, S: IntArray) -> IntArray:
        """Sorted columns of the units in S."""
        return np.sort(np.concatenate([self._units[g] for g in S])) if len(S) else np.empty(0, dtype=np.int64)

    def log_evidence(self, S: IntArray) -> float:
        """Log p(y | S)."""
        return float(self.likelihood.log_evidence(self.columns(S)))

    def flip_gains(self, S: IntArray) -> FlipGains:
        """Gains of every unit."""
        values, gains = self.flip_gains_many([S])
        return FlipGains(float(values[0]), gains[0])

    def flip_gains_many(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Log evidence (n,) and gains (n, units)."""
        values, columns = self.likelihood.flip_gains_many([self.columns(S) for S in sets])
        gains = columns[:, self._first]
        for row, value, S in zip(gains, values, sets, strict=True):
            row[self._several] = [self._gain(int(g), S, value) for g in self._several]
        return values, gains

    def _gain(self, g: int, S: IntArray, value: float) -> float:
        if g in S:
            return value - self.log_evidence(S[g != S])
        return self.log_evidence(np.sort(np.append(S, g))) - value

    @property
    def can_augment(self) -> bool:
        """Whether the columns' likelihood can draw auxiliary variables."""
        return bool(self.likelihood.can_augment)

    @property
    def n_outcomes(self) -> int:
        """Number of forms of the columns' likelihood; 0 if it has none."""
        return self.likelihood.n_outcomes if isinstance(self.likelihood, QuadraticLikelihood) else 0

    @property
    def widths(self) -> IntArray:
        """Number of columns of each unit."""
        return np.array([len(columns) for columns in self._units], dtype=np.int64)

    @property
    def noise_variance(self) -> float:
        """Variance of the noise of the columns' likelihood."""
        return float(self.likelihood.noise_variance)

    def draw_predictor(self, S: IntArray, c: float, auxiliary: Any, rng: np.random.Generator) -> Predictor | None:
        """The linear predictor of the columns' likelihood."""
        found: Predictor | None = self.likelihood.draw_predictor(self._in_order(S), c, auxiliary, rng)
        return found

    def expand(self, sets: Sequence[IntArray], c: float) -> Any:
        """Expansion of the columns' likelihood."""
        return self.likelihood.expand([self._in_order(S) for S in sets], c)

    def columns_of(self, features: IntArray) -> FloatArray:
        """Standardised columns (C, N), unit by unit."""
        return np.asarray(self.likelihood.columns_of(self._in_order(features)))

    def quadratic_forms(self, features: IntArray, Z: FloatArray, auxiliary: Any) -> list[QuadraticForm]:
        """Forms over the columns of the units, unit by unit."""
        forms: list[QuadraticForm] = self.likelihood.quadratic_forms(self._in_order(features), Z, auxiliary)
        return forms

    def gram_rows(self, S: IntArray, auxiliary: Any) -> list[tuple[FloatArray, QuadraticForm]]:
        """Rows for the columns of the units in S, columns unit by unit."""
        order = self._in_order(np.arange(self.n_features))
        found = self.likelihood.gram_rows(self._in_order(S), auxiliary)
        return [(rows[:, order], _ordered(form, order)) for rows, form in found]

    def grams(self, auxiliary: Any) -> list[tuple[FloatArray, QuadraticForm]]:
        """Gram matrices of the columns, unit by unit."""
        order = self._in_order(np.arange(self.n_features))
        found = self.likelihood.grams(auxiliary)
        return [(gram[np.ix_(order, order)], _ordered(form, order)) for gram, form in found]

    def _in_order(self, features: IntArray) -> IntArray:
        return np.concatenate([self._units[g] for g in features]) if len(features) else np.empty(0, dtype=np.int64)

    def probes(self, S: IntArray) -> list[Probe]:
        """Probes of the columns' likelihood, given the columns of the units in S."""
        found: list[Probe] = self.likelihood.probes(self.columns(S))
        return found

    def coefficients(self, S: IntArray) -> Coefficients:
        """Posterior of the coefficients of `columns(S)`."""
        found: Coefficients = self.likelihood.coefficients(self.columns(S))
        return found

    def predictive(self, S: IntArray, X_new: Any, covariates: Any = None) -> Predictive:
        """Predictive law of new rows (n, M)."""
        law: Predictive = self.likelihood.predictive(self.columns(S), X_new, covariates)
        return law


def _ordered(form: QuadraticForm, order: IntArray) -> QuadraticForm:
    fixed, diagonal, information = form.fixed[:, order], form.diagonal[order], form.information[order]
    return form._replace(fixed=fixed, diagonal=diagonal, information=information)
