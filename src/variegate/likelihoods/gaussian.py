"""Linear regression with the coefficients and the noise integrated out in closed form."""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import special

from ..gram import GramRows
from ..types import FloatArray, IntArray
from . import checks
from .auxiliary import Auxiliary
from .form import Factor, Form, Neighbours, Noise, Solution, factorise
from .projection import Projected
from .protocol import Coefficients, FlipGains, Predictive

CACHE_BYTES = 6 << 20  # default size of the Gram cache, or a quarter of the bytes of X if that is more


class Gaussian:
    """Gaussian likelihood with slab coefficients, inverse-gamma noise and a flat intercept.

    y = β₀ + C δ + X̃_S β + ε,  ε_i ~ N(0, σ²),  β_j ~ N(0, σ²/c),  σ² ~ InvGamma(a₀, b₀),  p(β₀, δ) = 1::

        log p(y|S) = −(n−p)/2 log 2π − ½ log|CᵀC| + |S|/2 log c − ½ log|Λ_S|
                     + a₀ log b₀ − a_n log b_n + log Γ(a_n) − log Γ(a₀),
        Λ_S = cI + X̃_SᵀX̃_S,  a_n = a₀ + (n − p)/2,  b_n = b₀ + ½(ỹᵀỹ − ỹᵀX̃_S Λ_S⁻¹ X̃_Sᵀỹ),

    where C holds the intercept and the p − 1 independent covariates, and ỹ, X̃ are y and the standardised
    columns with C projected out. Paper: Eq. 3, corrected.

    Parameters
    ----------
    X : (N, M) float64 or float32 array (used in place, not copied), or scipy.sparse
    y : (N,)
    slab_precision : c, on the scale of columns with unit standard deviation
    noise_shape, noise_rate : a₀, b₀. Default a₀ = 1 (worth two observations) and b₀ = a₀ times half the variance of y
        given the covariates: half of it is expected to be explained, whatever the units of y
    covariates : (N, p − 1), always in the model, flat prior; linearly dependent ones add nothing
    sample_weight : (N,) frequencies: the evidence with weights w is that of the rows repeated w times, n = Σw
    cache_bytes : limit for the cached rows of XᵀX; default a quarter of the bytes of X, at least 6 MiB

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> likelihood = Gaussian(X, y)
    >>> likelihood.log_evidence(np.array([1])) > likelihood.log_evidence(np.array([0]))
    True
    >>> likelihood.flip_gains(np.array([1])).gains.shape
    (4,)
    """

    exact_gains = True
    nuisance = np.nan

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        slab_precision: float = 10.0,
        noise_shape: float = 1.0,
        noise_rate: float | None = None,
        covariates: Any = None,
        sample_weight: Any = None,
        cache_bytes: int | None = None,
    ) -> None:
        design, weights = checks.measured(X, sample_weight)
        N, M = design.shape
        C = checks.covariate_table(covariates, N)
        self.slab_precision = checks.positive(slab_precision, "slab_precision")
        self._data = Projected.of(design, checks.vector(y, "y", N), C, weights)
        self.noise_shape = checks.positive(noise_shape, "noise_shape")
        self.noise_rate = (
            0.5 * self.noise_shape * self._data.variance
            if noise_rate is None
            else checks.positive(noise_rate, "noise_rate")
        )
        self._gram = GramRows(self._data.gram_rows, M, cache_bytes or max(design.nbytes // 4, CACHE_BYTES))

    @property
    def n_features(self) -> int:
        """M."""
        return self._data.design.shape[1]

    @property
    def rows_left(self) -> float:
        """N − p: how many rows the intercept and the covariates leave to be explained."""
        return self._data.dof

    def with_slab_precision(self, c: float) -> Self:
        """Return the same data, noise prior and caches with another slab precision."""
        twin = copy.copy(self)
        twin.slab_precision = checks.positive(c, "slab_precision")
        return twin

    def with_nuisance(self, value: float) -> Self:
        """Return itself: there is no nuisance parameter."""
        return self

    def roughly(self, rough: bool) -> Self:
        """Return itself: the evidence is exact."""
        return self

    def log_evidence(self, S: IntArray) -> float:
        """Log p(y | S)."""
        return self._log_evidence(self._factor(S))

    def flip_gains(self, S: IntArray) -> FlipGains:
        """Gains of all M features from one factor: O(|S|²M)."""
        near = self._neighbours(S)
        return FlipGains(self._log_evidence(near.factor), near.flip_gains(S))

    def _neighbours(self, S: IntArray) -> Neighbours:
        data, rows = self._data, self._gram.rows(S)
        factor = self._factor(S, rows[:, S])
        return Neighbours.of(factor, rows, data.diagonal, data.information, self.slab_precision, self._noise)

    def flip_gains_many(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Log evidence (n,) and gains (n, M); rows of XᵀX that are missing are computed in one product."""
        if len(sets):
            self._gram.prefetch(np.unique(np.concatenate(sets)).astype(np.int64))
        values, gains = np.empty(len(sets)), np.empty((len(sets), self.n_features))
        for i, S in enumerate(sets):
            values[i], gains[i] = self.flip_gains(S)
        return values, gains

    def exchange_gains(self, S: IntArray) -> FloatArray:
        """Log p(y | S∖j ∪ m) − log p(y | S) for each member j and every m outside (|S|, M). O(|S|²M)."""
        return self._neighbours(S).exchange_gains(len(S))

    @property
    def can_augment(self) -> bool:
        """True: no auxiliary variables are needed."""
        return True

    @property
    def noise_variance(self) -> float:
        """1: the slab is in units of the noise."""
        return 1.0

    def draw_predictor(self, S: IntArray, c: float, auxiliary: Any, rng: np.random.Generator) -> None:
        """None: there are no auxiliary variables."""

    def expand(self, sets: Sequence[IntArray], c: float) -> None:
        """None: the form is exact, whatever the sets."""

    def columns_of(self, features: IntArray) -> FloatArray:
        """Standardised columns (C, N)."""
        return self._data.design.column_rows(features)

    def quadratic_form(self, features: IntArray, Z: FloatArray, auxiliary: Any = None) -> Form:
        """The evidence as a quadratic form over some columns."""
        return self._form.take(features)

    def gram_rows(self, S: IntArray, auxiliary: Any = None) -> tuple[FloatArray, Form]:
        """Rows of the Gram matrix (|S|, M), and the form over all columns."""
        return self._gram.rows(S), self._form

    def gram(self, auxiliary: Any = None) -> tuple[FloatArray, Form]:
        """The Gram matrix of all columns, and the form."""
        data = self._data
        return data.design.gram(data.weights) - data.loadings.T @ data.loadings, self._form

    @property
    def _form(self) -> Form:
        data = self._data
        return Form(data.weights, data.loadings, data.diagonal, data.information, self._noise)

    @property
    def _noise(self) -> Noise:
        return Noise(self._shape, self.noise_rate + 0.5 * self._data.total, self.noise_rate)

    def solution(self, S: IntArray) -> Solution:
        """What S gives, with the intercept and the covariates under their flat prior."""
        data = self._data
        rows, given = (
            np.vstack([data.design.column_rows(S), data.Q.T]),
            Auxiliary(data.weights, data.weights * data.residual),
        )
        prior = np.repeat([self.slab_precision, 0.0], [len(S), len(rows) - len(S)])
        factor = factorise(given.inner(rows), rows @ given.information, prior)
        return Solution(rows, given, factor, self.log_evidence(S), self._noise)

    def coefficients(self, S: IntArray) -> Coefficients:
        """Mean and covariance b_n/(a_n − 1) Λ_S⁻¹ of the Student-t posterior, in the units of X."""
        data, factor = self._data, self._factor(S)
        to_units = data.design.inverse_scale[S]
        mean = to_units * factor.mean()
        a, b = self._shape, self._rate(factor)
        unit = b / (a - 1.0) if a > 1 else np.inf
        known = data.joint_covariance(S, factor)
        joint = unit * known if a > 1 else np.full_like(known, np.inf)
        delta = data.fixed_coefficients(S, factor.mean())
        intercept = data.y_mean - float(data.design.centre[S] @ mean) - float(data.covariates.centre @ delta)
        return Coefficients(intercept, mean, joint[: len(S), : len(S)], delta, joint, 2.0 * a)

    def predictive(self, S: IntArray, X_new: Any, covariates: Any = None) -> Predictive:
        """Student-t law of new rows: scale² = b_n/a_n (1 + 1/n + |q|² + x̃ᵀΛ_S⁻¹x̃), dof = 2a_n."""
        data, factor = self._data, self._factor(S)
        new = checks.new_rows(X_new, covariates, self.n_features, data.covariates.shape[1])
        Q = data.fixed_rows(new.covariates)
        Z = data.design.standardised(new.X, S) - Q @ data.loadings[:, S]
        mean = data.y_mean + Q @ data.y_loadings + Z @ factor.mean()
        V = factor.half_solve(np.ascontiguousarray(Z.T))
        spread = 1.0 / data.n + np.square(Q).sum(axis=1) + np.square(V).sum(axis=0)
        unit = self._rate(factor) / self._shape
        return Predictive(mean, np.sqrt(unit * (1.0 + spread)), 2.0 * self._shape, mean, np.sqrt(unit * spread))

    @property
    def _shape(self) -> float:
        return self.noise_shape + 0.5 * self._data.dof

    def _rate(self, factor: Factor) -> float:
        return self.noise_rate + 0.5 * max(self._data.total - factor.explained, 0.0)

    def _factor(self, S: IntArray, block: FloatArray | None = None) -> Factor:
        if block is None:
            block = self._gram.block(S)
        A = self._data.gram_block(S) if block is None else block
        return factorise(A, self._data.information[S], self.slab_precision)

    def _log_evidence(self, factor: Factor) -> float:
        a, a0, b0 = self._shape, self.noise_shape, self.noise_rate
        slab = 0.5 * len(factor.u) * np.log(self.slab_precision) - 0.5 * factor.log_det
        noise = a0 * np.log(b0) - a * np.log(self._rate(factor)) + special.gammaln(a) - special.gammaln(a0)
        return float(self._data.log_constant + slab + noise)
