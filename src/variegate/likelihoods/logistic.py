"""Classification of two classes with the coefficients integrated out by expectation propagation."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np

from ..design import Design, RoughDesign
from ..gram import GramRows
from ..types import FloatArray, IntArray
from . import augmentation, checks, ep
from .flips import Factor, additions, exchanges, factorise, removals
from .projection import covariate_design
from .protocol import Coefficients, FlipGains, Predictive, QuadraticForm
from .recent import RecentSites
from .tilted import log_averages

FIXED_VARIANCE = 100.0  # prior variance of the intercept and of the standardised covariates' coefficients
BATCH_BYTES = 1 << 22  # products with X are batched over sets up to this size

COLUMN_BYTES = 1 << 25
ANSWERS = 512  # sets whose coefficients are remembered: more than a prediction averages over


class Logistic:
    """Logit or probit likelihood with slab coefficients, by expectation propagation (EP).

    P(y_i = 1) = σ(η_i) or Φ(η_i),  η = β₀ + C̃δ + X̃_S β,  β_j ~ N(0, 1/c),  β₀, δ_j ~ N(0, 100),

    with columns of X and covariates standardised. log p(y|S) is EP's approximation and its leading correction
    (`skew.py`). The flip gains are EP's alone and keep the sites of S, so they are those of a Gaussian model with one
    pseudo-observation a row, exact to first order because EP's evidence is stationary in the sites (T = diag(τ)):

        Δ_m = ½ log c − ½ log d_m + ½ e_m²/d_m,  d_m = c + x̃_mᵀTx̃_m − |L⁻¹Z_SᵀTx̃_m|².

    Parameters
    ----------
    X : (N, M) float64 or float32 array (used in place; a fit keeps a small one once more, in single precision), or
        scipy.sparse
    y : (N,) of 0 and 1, or booleans; both must occur
    slab_precision : c, on the scale of columns with unit standard deviation
    link : "logit" or "probit"
    covariates : (N, p), always in the model
    sample_weight : (N,) powers of the terms, w_i log p(y_i | η_i). A weight w ≥ 1 is w copies of the row,
        each with its site, so integer weights are repeated rows; w < 1 is one site for the term's power

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> likelihood = Logistic(X, X[:, 1] + 0.5 * rng.normal(size=40) > 0)
    >>> likelihood.flip_gains(np.array([], dtype=int)).gains.argmax()
    np.int64(1)
    """

    exact_gains = False  # sites are frozen while features are flipped
    _tolerance = ep.TOLERANCE

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        slab_precision: float = 1.0,
        link: Literal["logit", "probit"] = "logit",
        covariates: Any = None,
        sample_weight: Any = None,
    ) -> None:
        X = checks.table(X)
        if link not in ("logit", "probit"):
            raise ValueError(f'link must be "logit" or "probit"; got {link!r}.')
        weights = checks.sample_weights(sample_weight, X.shape[0])
        C = checks.covariate_table(covariates, X.shape[0])
        self.slab_precision = checks.positive(slab_precision, "slab_precision")
        self.link = link
        self._signs = 2.0 * checks.labels(y, X.shape[0], weights) - 1.0
        self._copies, self._power = np.maximum(weights, 1.0), np.minimum(weights, 1.0)
        self._design, self._covariates = Design.of(X, weights), covariate_design(C, weights)
        self._gains_design: Design | RoughDesign = self._design
        # gathering columns of a C-ordered table misses the cache at every entry, so those in use are kept as rows
        self._columns = GramRows(self._design.column_rows, X.shape[1], COLUMN_BYTES, width=X.shape[0])
        self._fixed = np.vstack([np.ones(X.shape[0]), self._covariates.columns(np.arange(C.shape[1])).T])
        self._recent = RecentSites(self.n_features, ep.cold_sites(self._power))
        self._answers: dict[bytes, Factor] = {}

    @property
    def n_features(self) -> int:
        """M."""
        return self._design.shape[1]

    def with_slab_precision(self, c: float) -> Self:
        """Return the same data and warm starts with another slab precision."""
        twin = copy.copy(self)
        twin.slab_precision = checks.positive(c, "slab_precision")
        twin._answers = {}
        return twin

    def roughly(self, rough: bool = True) -> Self:
        """Return the same data with EP stopped earlier and single-precision products with X, as inside a fit, or not.

        Warm starts begin anew: a fit must not depend on what was computed before it.
        """
        twin = copy.copy(self)
        twin._tolerance = ep.ROUGH_TOLERANCE if rough else ep.TOLERANCE
        twin._gains_design = self._design.roughly() if rough else self._design
        twin._recent = RecentSites(self.n_features, ep.cold_sites(self._power))
        return twin

    def log_evidence(self, S: IntArray) -> float:
        """Log p(y | S), as EP approximates it, with the skew term."""
        return self._solve(S)[1].log_evidence

    def flip_gains(self, S: IntArray) -> FlipGains:
        """Gains of all M features with the sites of S: O(N|S|M), in matrix products."""
        values, gains = self.flip_gains_many([S])
        return FlipGains(float(values[0]), gains[0])

    def flip_gains_many(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Log evidence (n,) and gains (n, M); the products with X are shared between sets."""
        values, gains = np.empty(len(sets)), np.empty((len(sets), self.n_features))
        for batch in self._batches(sets):
            values[batch], gains[batch] = self._flip_gains_batch(sets[batch])
        return values, gains

    def exchange_gains(self, S: IntArray) -> FloatArray:
        """Log p(y | S∖j ∪ m) − log p(y | S) for each member j and every m outside, with the sites of S (|S|, M)."""
        problem, solution = self._solve(S)
        T = self._copies * solution.sites[0]
        rows = np.vstack([problem.Zt * (T * self._signs), self._signs * self._copies * solution.sites[1]])
        cross, squares = self._gains_design.cross_and_squares(rows, T[None])
        changed = exchanges(solution.factor, cross[:-1], squares[0], cross[-1], self.slab_precision)
        return np.asarray(0.5 * (changed.explained - changed.log_det)[: len(S)])

    @property
    def can_augment(self) -> bool:
        """Logit: yes. Probit: truncated normals are drawn for whole copies of a row."""
        weights = self._copies * self._power
        return self.link == "logit" or bool((weights == np.rint(weights)).all())

    n_outcomes = 1

    @property
    def widths(self) -> IntArray:
        """One column for each feature (M,)."""
        return np.ones(self.n_features, dtype=np.int64)

    @property
    def noise_variance(self) -> float:
        """Variance of the logistic law, or of the normal law."""
        return 1.0 if self.link == "probit" else np.pi**2 / 3

    def draw_predictor(
        self, S: IntArray, c: float, auxiliary: augmentation.Auxiliary | None, rng: np.random.Generator
    ) -> augmentation.Predictor:
        """Coefficients given S and the auxiliary variables; zeros at the start."""
        Zt, p = np.vstack([self._fixed, self._columns.rows(S)]), len(self._fixed)
        prior = np.full(len(Zt), c)
        prior[:p] = 1.0 / FIXED_VARIANCE
        drawn = np.zeros(len(Zt)) if auxiliary is None else augmentation.draw_coefficients(Zt, prior, auxiliary, rng)
        squares = float(drawn[:p] @ drawn[:p]) / FIXED_VARIANCE
        weights = self._copies * self._power
        return augmentation.Predictor(drawn @ Zt, p, squares, self._signs, weights, self.link == "probit")

    def expand(self, sets: Sequence[IntArray], c: float) -> augmentation.Auxiliary:
        """The log-likelihood to second order at the mean of the sets' linear predictors."""
        twin = self.with_slab_precision(c)
        means = [twin._answer(S).mean() @ np.vstack([self._columns.rows(S), self._fixed]) for S in sets]
        return augmentation.expansion(
            np.mean(means, axis=0), self._signs, self._copies * self._power, self.link == "probit"
        )

    def columns_of(self, features: IntArray) -> FloatArray:
        """Standardised columns (C, N)."""
        return self._columns.rows(features)

    def quadratic_forms(
        self, features: IntArray, Z: FloatArray, auxiliary: augmentation.Auxiliary
    ) -> list[QuadraticForm]:
        """The evidence given the auxiliary variables, intercept and covariates integrated out. O(N|features|)."""
        squares = np.square(Z) @ auxiliary.precision
        cross = (self._fixed * auxiliary.precision) @ Z.T
        return [self._form(auxiliary, cross, squares, Z @ auxiliary.information)]

    def gram_rows(self, S: IntArray, auxiliary: augmentation.Auxiliary) -> list[tuple[FloatArray, QuadraticForm]]:
        """Rows of the Gram matrix given the auxiliary variables (|S|, M), and the form over all columns."""
        T, k = auxiliary.precision, len(S)
        rows = np.vstack([self._columns.rows(S) * T, self._fixed * T, auxiliary.information])
        cross, squares = self._design.cross_and_squares(rows, T[None])
        form = self._form(auxiliary, cross[k:-1], squares[0], cross[-1])
        return [(cross[:k] - form.fixed[:, S].T @ form.fixed, form)]

    def _form(
        self, auxiliary: augmentation.Auxiliary, cross: FloatArray, squares: FloatArray, information: FloatArray
    ) -> QuadraticForm:
        factor = self._fixed_part(auxiliary)
        V = factor.half_solve(np.ascontiguousarray(cross))
        diagonal = np.maximum(squares - np.einsum("ij,ij->j", V, V), 0.0)
        return QuadraticForm(auxiliary.precision, V, diagonal, information - factor.u @ V)

    def _fixed_part(self, auxiliary: augmentation.Auxiliary) -> Factor:
        A = (self._fixed * auxiliary.precision) @ self._fixed.T
        A.flat[:: len(A) + 1] += 1.0 / FIXED_VARIANCE
        return factorise(A, self._fixed @ auxiliary.information)

    def coefficients(self, S: IntArray) -> Coefficients:
        """Gaussian posterior of the coefficients, in the units of X."""
        s = len(S)
        factor = self._answer(S)
        mean, units = factor.mean(), self._design.inverse_scale[S]
        beta, delta = units * mean[:s], self._covariates.inverse_scale * mean[s + 1 :]
        intercept = mean[s] - self._design.centre[S] @ beta - self._covariates.centre @ delta
        covariance = factor.inverse()
        spread = np.square(self._covariates.inverse_scale) * covariance.diagonal()[s + 1 :]
        return Coefficients(float(intercept), beta, covariance[:s, :s] * np.outer(units, units), delta, spread)

    def predictive(self, S: IntArray, X_new: Any, covariates: Any = None) -> Predictive:
        """P(y = 1) for new rows (n, M), averaged over the posterior of the coefficients."""
        X_new = checks.table(X_new, "X_new", self.n_features)
        p = self._covariates.shape[1]
        C_new = checks.covariate_table(covariates, X_new.shape[0], p)
        fixed = [np.ones(X_new.shape[0]), *self._covariates.standardised(C_new, np.arange(p)).T]
        Z = np.vstack([self._design.standardised(X_new, S).T, *fixed])
        factor = self._answer(S)
        latent = factor.mean() @ Z
        variance = np.square(factor.half_solve(Z)).sum(axis=0)
        prob = np.exp(log_averages(latent, variance, self.link == "probit"))
        return Predictive(prob, np.sqrt(prob * (1.0 - prob)), np.inf, latent, np.sqrt(variance))

    def _problem(self, S: IntArray) -> ep.Problem:
        Zt = np.vstack([self._columns.rows(S), self._fixed]) * self._signs
        prior = np.full(len(Zt), 1.0 / FIXED_VARIANCE)
        prior[: len(S)] = self.slab_precision
        return ep.Problem(Zt, prior, self._copies, self._power, self.link == "probit")

    def _answer(self, S: IntArray) -> Factor:
        """What EP says of the coefficients, from a cold start: what users see must not depend on earlier calls."""
        key = S.tobytes()
        if key not in self._answers:
            while len(self._answers) >= ANSWERS:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = ep.solve(self._problem(S), ep.cold_sites(self._power)).factor
        return self._answers[key]

    def _solve(self, S: IntArray) -> tuple[ep.Problem, ep.Solution]:
        problem = self._problem(S)
        solution = ep.solve(problem, self._recent.nearest(S), self._tolerance)
        self._recent.add(S, solution.sites)
        return problem, solution

    def _batches(self, sets: Sequence[IntArray]) -> Iterator[slice]:
        """Cut the sets into runs whose stacked rows times M stay below BATCH_BYTES, one set at least."""
        start, rows, most = 0, 0, BATCH_BYTES // (8 * self.n_features)
        for i, S in enumerate(sets):
            needed = len(S) + len(self._fixed) + 2
            if i > start and rows + needed > most:
                yield slice(start, i)
                start, rows = i, 0
            rows += needed
        if len(sets):
            yield slice(start, len(sets))

    def _flip_gains_batch(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        solved = [self._solve(S) for S in sets]
        precisions = np.stack([self._copies * s.sites[0] for _, s in solved])
        rows = [
            np.vstack([problem.Zt * (T * self._signs), self._signs * self._copies * s.sites[1]])
            for T, (problem, s) in zip(precisions, solved, strict=True)
        ]
        cross, diagonals = self._gains_design.cross_and_squares(np.vstack(rows), precisions)
        parts = np.split(cross, np.cumsum([len(r) for r in rows])[:-1])
        gains = np.empty((len(sets), self.n_features))
        c = self.slab_precision
        for i, (S, (_, s), part) in enumerate(zip(sets, solved, parts, strict=True)):
            added = additions(s.factor, part[:-1], diagonals[i], part[-1], c)
            gains[i] = 0.5 * (np.log(c) - added.log_det + added.explained)
            own = removals(s.factor, slice(len(S)))
            gains[i, S] = 0.5 * (np.log(c) - own.log_det + own.explained)
        return np.array([s.log_evidence for _, s in solved]), gains
