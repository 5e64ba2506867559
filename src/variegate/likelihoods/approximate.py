"""Likelihoods that approximate the posterior of the coefficients by a Gaussian: the basis of EP and Laplace."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..design import Design, RoughDesign
from ..gram import GramRows
from ..types import FloatArray, IntArray
from . import checks
from .auxiliary import Auxiliary, Dense
from .form import Factor, Form, Neighbours, Noise, Solution, factorise
from .projection import covariate_design
from .protocol import Coefficients, FlipGains, Predictive, Predictor
from .unsettled import Unsettled

FIXED_VARIANCE = 100.0  # prior variance of the intercept and of the standardised covariates' coefficients
BATCH_BYTES = 1 << 22  # products with X are batched over sets up to this size
COLUMN_BYTES, KEPT_COLUMNS = 1 << 25, 48  # cache of columns in use: this size, or this many if that is more
# With more rows, classes and counts are not augmented: the expansion around the posterior is as good as exact. With
# 20,000 rows of classes (M = 1,000), 99.5 % of its moves are accepted, and a fit takes half the time.
TALL = 10_000
ANSWERS = 512  # sets whose coefficients are cached: more than a prediction averages over
BLOCK = 1024  # columns whose curvature is computed together
SHARED = 16  # vectors that approximate the shared curvature for left-out columns: as accurate as flip gains; 8 are not


class ApproximateLikelihood:
    """η = β₀ + C̃δ + X̃_S β, β_j ~ N(0, 1/c), β₀, δ_j ~ N(0, 100), columns of X and covariates standardised.

    A subclass solves one set (`_solve`) and gives the law of new rows (`_law`). Around the solution, the likelihood is
    replaced by Gaussian terms exp(bᵀη − ½ηᵀAη). Flip gains keep the terms of S, so they are those of a Gaussian model,
    exact to first order because the evidence is stationary in the terms:

        Δ_m = ½ log c − ½ log d_m + ½ e_m²/d_m,  d_m = c + x̃_mᵀAx̃_m − |L⁻¹Z_SᵀAx̃_m|².
    """

    exact_gains = False
    nuisance = np.nan
    _null = 0.0  # added to every linear predictor

    def __init__(self, X: Any, slab_precision: float, covariates: Any, sample_weight: Any, intercept: bool) -> None:
        design, weights = checks.measured(X, sample_weight)
        N, M = design.shape
        C = checks.covariate_table(covariates, N)
        self.slab_precision = checks.positive(slab_precision, "slab_precision")
        self._weights, self._design, self._covariates = weights, design, covariate_design(C, weights)
        self._gains_design: Design | RoughDesign = design
        # gathering columns of a C-ordered table misses the CPU cache at every entry, so those in use are kept as rows
        self._columns = GramRows(design.column_rows, M, max(COLUMN_BYTES, 8 * N * KEPT_COLUMNS), width=N)
        ones = np.ones((int(intercept), N))
        self._fixed = np.vstack([ones, self._covariates.columns(np.arange(C.shape[1])).T])
        self._intercept = intercept
        self._answers: dict[bytes, Factor] = {}
        self.unsettled = Unsettled()

    # --- subclasses implement these -----------------------------------------------------------------------------

    def _solve(self, S: IntArray) -> Solution:
        """The posterior of the coefficients given S, warm-started from other sets."""
        raise NotImplementedError

    def solution(self, S: IntArray) -> Solution:
        """The same without a warm start: what users see must not depend on earlier calls."""
        raise NotImplementedError

    def _law(self, mean: FloatArray, variance: FloatArray) -> Predictive:
        """The predictive law of rows whose linear predictors have these moments (n,)."""
        raise NotImplementedError

    # --- evidence -----------------------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """M."""
        return self._design.shape[1]

    @property
    def varying(self) -> npt.NDArray[np.bool_]:
        """Which columns (M,) are not constant."""
        return self._design.varying

    def with_slab_precision(self, c: float) -> Self:
        """Return the same data and warm starts with another slab precision."""
        twin = copy.copy(self)
        twin.slab_precision = checks.positive(c, "slab_precision")
        twin._answers = {}
        return twin

    def with_nuisance(self, value: float) -> Self:
        """Return itself: there is no nuisance parameter."""
        return self

    def log_evidence(self, S: IntArray) -> float:
        """Log p(y | S), approximately."""
        return self._solve(S).log_evidence

    def flip_gains(self, S: IntArray) -> FlipGains:
        """Gains of all M features with the terms of S: O(N|S|M), in matrix products."""
        values, gains = self.flip_gains_many([S])
        return FlipGains(float(values[0]), gains[0])

    def flip_gains_many(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Log evidence (n,) and gains (n, M); the products with X are shared between sets."""
        values, gains = np.empty(len(sets)), np.empty((len(sets), self.n_features))
        for batch in self._batches(sets):
            solved = [self._solve(S) for S in sets[batch]]
            values[batch] = [one.log_evidence for one in solved]
            for row, S, near in zip(gains[batch], sets[batch], self._neighbours(solved), strict=True):
                row[:] = near.flip_gains(S)
        return values, gains

    def exchange_gains(self, S: IntArray) -> FloatArray:
        """Log p(y | S∖j ∪ m) − log p(y | S) for each member j and every m outside, with the terms of S (|S|, M)."""
        (near,) = self._neighbours([self._solve(S)])
        return near.exchange_gains(len(S))

    def _rows(self, S: IntArray) -> FloatArray:
        """The columns of S and the fixed ones (k, N)."""
        return np.vstack([self._columns.rows(S), self._fixed])

    def _prior(self, S: IntArray, c: float | None = None) -> FloatArray:
        """Prior precisions of their coefficients (k,)."""
        prior = np.full(len(S) + len(self._fixed), 1.0 / FIXED_VARIANCE)
        prior[: len(S)] = self.slab_precision if c is None else c
        return prior

    def _mean_predictor(self, sets: Sequence[IntArray], c: float) -> FloatArray:
        """The linear predictor (N,) at the posterior means of the coefficients, averaged over sets."""
        twin = self.with_slab_precision(c)
        return np.asarray(np.mean([twin._answer(S).mean() @ self._rows(S) for S in sets], axis=0))

    def _neighbours(self, solved: list[Solution]) -> list[Neighbours]:
        """All columns given some sets; the products with X are shared."""
        rows, precisions = [one.products() for one in solved], np.stack([one.given.precision for one in solved])
        cross, squares = self._gains_design.cross_and_squares(np.vstack(rows), precisions)
        parts, c = np.split(cross, np.cumsum([len(r) for r in rows])[:-1]), self.slab_precision
        for row, one in zip(squares, solved, strict=True):
            if one.given.shared is not None:
                row -= self._shared_squares(one.given)
        return [
            Neighbours.of(one.factor, part[:-1], row, part[-1], c, Noise())
            for one, part, row in zip(solved, parts, squares, strict=True)
        ]

    def _shared_squares(self, given: Auxiliary) -> FloatArray:
        """The shared part of x̃ᵀAx̃ (M,), a block of columns at a time. O(NM)."""
        factors = (given.factor(self._design.column_rows(some)) for some in self._column_blocks())
        return np.concatenate([np.square(F).sum(axis=0) for F in factors])

    def _batches(self, sets: Sequence[IntArray]) -> Iterator[slice]:
        """Split the sets into runs whose stacked rows times M stay below BATCH_BYTES, with at least one set each."""
        start, rows, most = 0, 0, BATCH_BYTES // (8 * self.n_features)
        for i, S in enumerate(sets):
            needed = len(S) + len(self._fixed) + 2
            if i > start and rows + needed > most:
                yield slice(start, i)
                start, rows = i, 0
            rows += needed
        if len(sets):
            yield slice(start, len(sets))

    # --- quadratic forms ----------------------------------------------------------------------------------------

    def columns_of(self, features: IntArray) -> FloatArray:
        """Standardised columns (C, N)."""
        return self._columns.rows(features)

    def quadratic_form(self, features: IntArray, Z: FloatArray, auxiliary: Auxiliary) -> Form:
        """The evidence given the terms, intercept and covariates integrated out. O(N|features|)."""
        cross = auxiliary.times(self._fixed) @ Z.T
        F = auxiliary.factor(Z)
        squares = np.square(Z) @ auxiliary.precision - np.square(F).sum(axis=0)
        form = self._form(auxiliary, cross, squares, Z @ auxiliary.information)
        return form._replace(fixed=np.vstack([form.fixed, F])) if len(F) else form

    def gram_rows(self, S: IntArray, auxiliary: Auxiliary) -> tuple[FloatArray, Form]:
        """Rows of the Gram matrix given the terms (|S|, M), and the form over all columns, without the shared part."""
        k = len(S)
        rows = np.vstack([auxiliary.times(self._rows(S)), auxiliary.information])
        dense = auxiliary.shared.P if isinstance(auxiliary.shared, Dense) else rows[:0]
        cross, squares = self._design.cross_and_squares(np.vstack([rows, dense]), auxiliary.precision[None])
        if auxiliary.shared is not None:
            shared = np.square(cross[len(rows) :]).sum(axis=0)
            squares[0] -= shared if len(dense) else self._shared_squares(auxiliary)
        form = self._form(auxiliary, cross[k : len(rows) - 1], squares[0], cross[len(rows) - 1])
        return cross[:k] - form.fixed[:, S].T @ form.fixed, form

    def gram(self, auxiliary: Auxiliary) -> tuple[FloatArray, Form]:
        """The Gram matrix of all columns given the terms, and the form."""
        _, form = self.gram_rows(np.arange(0), auxiliary)
        G = self._design.gram(auxiliary.precision) - form.fixed.T @ form.fixed
        if isinstance(auxiliary.shared, Dense):
            F = self._design.cross(auxiliary.shared.P)
            G -= F.T @ F
        elif auxiliary.shared is not None:
            F = np.hstack([auxiliary.factor(self._design.column_rows(some)) for some in self._column_blocks()])
            G -= F.T @ F
        return G, form

    def _column_blocks(self) -> list[IntArray]:
        return [np.arange(start, min(start + BLOCK, self.n_features)) for start in range(0, self.n_features, BLOCK)]

    def _form(self, auxiliary: Auxiliary, cross: FloatArray, squares: FloatArray, information: FloatArray) -> Form:
        near = Neighbours.of(
            self._fixed_part(auxiliary), np.ascontiguousarray(cross), squares, information, 0.0, Noise()
        )
        return Form(auxiliary.precision, near.V, near.d, near.e)

    def _fixed_part(self, auxiliary: Auxiliary) -> Factor:
        """Factor of the precision of the fixed coefficients."""
        return factorise(auxiliary.inner(self._fixed), self._fixed @ auxiliary.information, 1.0 / FIXED_VARIANCE)

    def draw_predictor(self, S: IntArray, c: float, auxiliary: Any, rng: np.random.Generator) -> Predictor | None:
        """Draw coefficients given S and the auxiliary variables, if `can_augment`."""
        raise NotImplementedError

    def expand(self, sets: Sequence[IntArray], c: float) -> Auxiliary:
        """The log-likelihood to second order at the mean of the sets' linear predictors."""
        raise NotImplementedError

    # --- coefficients and predictions ---------------------------------------------------------------------------

    def _answer(self, S: IntArray) -> Factor:
        """The posterior of the coefficients, cached for ANSWERS sets."""
        key = S.tobytes()
        if key not in self._answers:
            while len(self._answers) >= ANSWERS:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = self.solution(S).factor
        return self._answers[key]

    def coefficients(self, S: IntArray) -> Coefficients:
        """Gaussian posterior of the coefficients, in the units of X."""
        s, first = len(S), len(S) + int(self._intercept)
        factor = self._answer(S)
        mean, units = factor.mean(), self._design.inverse_scale[S]
        beta, delta = units * mean[:s], self._covariates.inverse_scale * mean[first:]
        level = (
            self._null + float(mean[s:first].sum()) - self._design.centre[S] @ beta - self._covariates.centre @ delta
        )
        scale = np.concatenate([units, np.ones(first - s), self._covariates.inverse_scale])
        joint = factor.inverse() * np.outer(scale, scale)
        if not self._intercept:
            joint = np.insert(np.insert(joint, s, 0.0, axis=0), s, 0.0, axis=1)
        return Coefficients(float(level), beta, joint[:s, :s], delta, joint)

    def predictive(self, S: IntArray, X_new: Any, covariates: Any = None) -> Predictive:
        """The law of new rows (n, M), averaged over the posterior of the coefficients."""
        p = self._covariates.shape[1]
        new = checks.new_rows(X_new, covariates, self.n_features, p)
        ones = np.ones((int(self._intercept), new.X.shape[0]))
        Z = np.vstack(
            [
                self._design.standardised(new.X, S).T,
                ones,
                self._covariates.standardised(new.covariates, np.arange(p)).T,
            ]
        )
        factor = self._answer(S)
        mean = self._null + factor.mean() @ Z
        return self._law(mean, np.square(factor.half_solve(Z)).sum(axis=0))
