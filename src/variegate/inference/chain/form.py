"""The posterior over some features as one quadratic form, small enough to embed in a report."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...likelihoods.protocol import QuadraticLikelihood
from ...types import FloatArray, IntArray
from ..target import Target
from .model import Model
from .problem import Grid
from .sample import ChainSettings, Sample, grid_of

EXPANDED = 40  # sets whose mean linear predictor the form is expanded around
# Sets whose evidence the form is fitted to, and the penalties, in units of the residual variance, of log-odds and of
# slopes. Two classes, N = 200, M = 32, sets of 3 to 20, largest difference from `condition` on ten conditions: .15 with
# auxiliary variables replaced by their averages, .06 with slopes alone, .045 with penalty 3 (1: .041, 10: .048); twice
# as many sets, some of them under conditions: .040.
FITTED, TILTED, SLOPED = 200, 3.0, 0.1
LEAST_SLOPE = 0.1


@dataclass(frozen=True, eq=False)
class Form:
    """log p(S | y) for sets of n features with C columns, as in `Problem`; all others are left out.

    Exact for regression. For other outcomes it is the expansion of the likelihood around the posterior, fitted to the
    evidence of sampled sets: the explained part times a slope (in `information`), further log-odds for each feature
    (in `tilt`), and a parabola in log c (in `grid.log_prior`).
    """

    features: IntArray  # (n,) sorted
    first: IntArray  # (n + 1,) first column of each feature
    gram: FloatArray  # (K, C, C)
    information: FloatArray  # (K, C)
    noise: FloatArray  # (K, 3) shape, rate, floor
    cosines: FloatArray | None  # (n, n) of Φ, if the prior has ν
    nugget: float
    power: float  # exponent of ν
    tilt: FloatArray  # (n,)
    grid: Grid
    at: tuple[int, int]  # position on the grid nearest to the means
    size: int | None
    largest: int  # number of features in the largest sampled set
    spread: float  # standard deviation of the error of log p(y | S), for sets that it was not fitted to; 0 if exact

    @property
    def exact(self) -> bool:
        """Whether it is the posterior itself."""
        return self.spread == 0.0

    def log_joint(self, S: IntArray, at: tuple[int, int]) -> float:
        """log p(y, S, hyperparameters) up to a constant, for positions S among `features`. O(|S|³)."""
        i, j = at
        fixed = self.size is not None
        value = self.grid.log_prior[i, j] - (0.0 if fixed else self.grid.log_normalizer[i])
        value += self.tilt[S].sum() + len(S) * self.grid.log_kappa[i]
        columns = self.columns(S)
        for G, b, noise in zip(self.gram, self.information, self.noise, strict=True):
            value += _log_evidence(_parts(G, b, columns, float(np.exp(self.grid.log_c[j]))), noise)
        if self.cosines is not None:
            volume = self.cosines[np.ix_(S, S)] + self.nugget * np.eye(len(S))
            value += self.power * np.linalg.slogdet(volume)[1]
        return float(value)

    def columns(self, S: IntArray) -> IntArray:
        """Columns of the features at positions S."""
        return np.concatenate([np.arange(self.first[m], self.first[m + 1]) for m in S] or [np.arange(0)])


class Draws(NamedTuple):
    """Sets of a posterior that a form is made from."""

    sets: list[IntArray]
    slab_precisions: FloatArray  # (number of sets,)
    left_out: FloatArray  # (I,) expected number of members beside the form's features, for each prior size

    @classmethod
    def of(cls, fit: Sample, features: IntArray) -> "Draws":
        """Those of the chains. Members that are left out have odds proportional to κ, up to second order."""
        visits, kappa = (
            fit.hyperparameters.probability.sum(axis=1),
            np.exp(grid_of(fit.target, fit.settings).log_kappa),
        )
        beside = float(np.delete(fit.inclusion, features).sum())
        return cls(fit.sets, fit.slab_precisions, beside * kappa / (visits @ kappa))


def form_of(target: Target, settings: ChainSettings, draws: Draws, features: IntArray) -> Form:
    """The posterior over the sorted `features`. O(C²N), and for other outcomes than numbers FITTED evidences."""
    grid = grid_of(target, settings)
    grid = grid._replace(log_normalizer=grid.log_normalizer - draws.left_out)
    model = Model(target, grid)
    c = target.slab_precision or 1.0
    Z = model.likelihood.columns_of(features)
    some = [draws.sets[i] for i in np.linspace(0, len(draws.sets) - 1, EXPANDED).astype(int)]
    at = _nearest(grid.log_kappa, 0.0), _nearest(grid.log_c, np.log(c))
    forms = model.likelihood.quadratic_forms(features, Z, model.expanded(some, at[1]))
    units = target.volume.units(features) if target.prior_has_volume else None
    form = Form(
        features=features,
        first=np.concatenate([[0], np.cumsum(model.likelihood.widths[features])]),
        gram=np.stack([f.rows(Z, np.arange(len(Z))) for f in forms]),
        information=np.stack([f.information for f in forms]),
        noise=np.array([[f.shape, f.rate, f.floor] for f in forms]),
        cosines=None if units is None else units @ units.T,
        nugget=target.volume.nugget if target.prior_has_volume else 0.0,
        power=target.diversity,
        tilt=model.tilt[features],
        grid=grid,
        at=at,
        size=target.size,
        largest=max(map(len, draws.sets)),
        spread=0.0,
    )
    return form if (form.noise[:, 0] > 0).all() else _fitted(form, model, draws)


class _Parts(NamedTuple):
    """With A = G_SS + cI: ½(log|A| − |S| log c) and ½ b_Sᵀ A⁻¹ b_S."""

    half_log_det: float
    half: float


def _parts(G: FloatArray, b: FloatArray, S: IntArray, c: float) -> _Parts:
    A = G[np.ix_(S, S)] + c * np.eye(len(S))
    return _Parts(
        0.5 * float(np.linalg.slogdet(A)[1] - len(S) * np.log(c)), 0.5 * float(b[S] @ np.linalg.solve(A, b[S]))
    )


def _nearest(values: FloatArray, value: float) -> int:
    return int(np.argmin(np.abs(values - value)))


def _fitted(form: Form, model: Model, draws: Draws) -> Form:
    """The form with slopes, log-odds and a parabola in log c that fit the evidence of sampled sets.

    Ridge regression of log p(y | S, c) minus the form's; the grid is cut to the slab precisions that were sampled.
    """
    chosen = np.linspace(0, len(draws.sets) - 1, FITTED).astype(int)
    places = np.array([_nearest(form.grid.log_c, np.log(draws.slab_precisions[i])) for i in chosen])
    sets = [np.flatnonzero(np.isin(form.features, draws.sets[i])) for i in chosen]
    log_c = form.grid.log_c[places]
    curved = form.noise[:, 0] == 0  # outcomes whose form is an expansion
    short, halves = _shortfall(form, model.likelihood, sets, log_c, curved)
    inside = np.array([np.isin(np.arange(len(form.features)), S) for S in sets], dtype=np.float64)
    low, high = places.min(), places.max() + 1
    grid_c = form.grid.log_c[low:high] - log_c.mean()
    slope = halves - halves.mean(axis=0)
    terms = np.column_stack([np.ones(len(sets)), _parabola(log_c - log_c.mean()), slope, inside - inside.mean(axis=0)])
    penalties = np.repeat([1e-6, SLOPED, TILTED], [3, slope.shape[1], inside.shape[1]])
    found, spread = _ridge(terms, short, penalties)
    slopes = np.ones(len(form.noise))
    slopes[curved] = np.maximum(1.0 + found[3 : 3 + slope.shape[1]], LEAST_SLOPE)
    grid = form.grid._replace(
        log_c=form.grid.log_c[low:high], log_prior=form.grid.log_prior[:, low:high] + _parabola(grid_c) @ found[1:3]
    )
    return replace(
        form,
        information=form.information * np.sqrt(slopes)[:, None],
        tilt=form.tilt + found[3 + slope.shape[1] :],
        grid=grid,
        at=(form.at[0], _nearest(grid.log_c, form.grid.log_c[form.at[1]])),
        spread=max(spread, 1e-12),
    )


def _parabola(x: FloatArray) -> FloatArray:
    return np.column_stack([x, x * x])


def _shortfall(
    form: Form, likelihood: QuadraticLikelihood, sets: list[IntArray], log_c: FloatArray, curved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """log p(y | S, c) minus the form's (n,), and the explained parts of the expanded outcomes (n, K)."""
    short, halves = np.empty(len(sets)), np.empty((len(sets), int(curved.sum())))
    for n, (S, at) in enumerate(zip(sets, log_c, strict=True)):
        c, columns = float(np.exp(at)), form.columns(S)
        parts = [_parts(G, b, columns, c) for G, b in zip(form.gram, form.information, strict=True)]
        halves[n] = [part.half for part, k in zip(parts, curved, strict=True) if k]
        short[n] = likelihood.with_slab_precision(c).log_evidence(form.features[S]) - sum(
            _log_evidence(part, noise) for part, noise in zip(parts, form.noise, strict=True)
        )
    return short, halves


def _log_evidence(part: _Parts, noise: FloatArray) -> float:
    shape, rate, floor = noise
    return float((-shape * np.log(max(rate - part.half, floor)) if shape else part.half) - part.half_log_det)


def _ridge(A: FloatArray, y: FloatArray, penalties: FloatArray) -> tuple[FloatArray, float]:
    """Coefficients, and the standard deviation of residuals with each row left out."""
    inverse = np.linalg.inv(A.T @ A + np.diag(penalties))
    found = inverse @ (A.T @ y)
    left = (y - A @ found) / (1.0 - np.einsum("ni,ij,nj->n", A, inverse, A))
    return found, float(np.sqrt(np.mean(np.square(left))))
