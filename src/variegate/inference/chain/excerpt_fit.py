"""The form of a posterior; for outcomes other than numbers, an expansion fitted to the evidence of sampled sets.

The expansion is accurate near the posterior. For sets that explain far less it is off by many nats, mostly too high,
and a chain on it ends at the empty set. So the explained part h = ½ b_Sᵀ A⁻¹ b_S is replaced by s · r log(1 + h/r),
each feature gets additional log-odds, and the slab precision c gets a parabola in log c. These are fitted so that the
sum is closest to log p(y | S, c): for posterior sets and, with less weight, for posterior sets with members removed or
added, or with one exchanged for a similar feature.

Largest difference from `Posterior.condition`, two classes (with averages of the Pólya-Gamma variables instead: .15 on
the first):

    N = 200, M = 32, sets of 3 to 20, ten conditions        .04
    N = 60, M = 9, ten conditions                           .055
    N = 500, M = 2000, six conditions on each of two        .04, of which .01 is its Monte Carlo error

If features that nearly every set has are excluded, it is off by up to .8; see `excerpt_without`.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...threads import one_blas_thread
from ...types import FloatArray, IntArray
from ..target import Target
from .excerpt import Excerpt, half_log_det
from .grid import grid_of
from .model import Model
from .sample import Sample
from .settings import ChainSettings

EXPANDED = 40  # posterior sets that the form is expanded around
FITTED, THINNED, GROWN = 300, 100, 100  # sets to fit: posterior sets as they are, with members removed, with more
# Sets with a member exchanged for one of the COPIES features most similar to it. Without such sets, features that no
# sampled set has were off by .11 (N = 500, M = 2000, a certain feature excluded), with them by .02.
EXCHANGED, COPIES = 200, 5
LEAST_ALIKE = 0.5  # correlation of such features: with less similar ones, sets are far from the posterior
FAR = 4.0  # nats below the posterior at which a set has weight ½. With 1, the empty set wins at M = 2000
# Penalties, in units of the residual variance, of log-odds (1 and 10 are as good as 3) and of the slope minus one
TILTED, SLOPED = 3.0, 0.1
BENDS = (50.0, 5.0, 1.6, 0.8, 0.4, 0.2, 0.1, 0.05, 0.02)  # values of r to try, in units of the mean of h
LEAST_SLOPE = 0.1  # lower limit of s


class Draws(NamedTuple):
    """Posterior sets from which a form is made."""

    sets: list[IntArray]
    slab_precisions: FloatArray  # (number of sets,)
    left_out: FloatArray  # (I,) log of the sum over all sets of the other features, for each prior size

    @classmethod
    def of(cls, fit: Sample, features: IntArray) -> "Draws":
        """The chains' sets. The other features are assumed independent, with odds proportional to κ."""
        kappa = np.exp(grid_of(fit.target, fit.settings).log_kappa)
        kappa /= fit.hyperparameters.probability.sum(axis=1) @ kappa
        p = np.minimum(np.delete(fit.inclusion, features), 1.0 - 1e-9)
        return cls(fit.sets, fit.slab_precisions, np.log1p(np.outer(kappa, p / (1.0 - p))).sum(axis=1))


@one_blas_thread  # small matrices: 1 s instead of 12 on a busy machine
def form_of(
    target: Target, settings: ChainSettings, draws: Draws, features: IntArray, excluded: IntArray | None = None
) -> Excerpt:
    """The posterior over the sorted `features`, some of which may be excluded.

    O(C²N), plus several hundred evidences for outcomes other than numbers.
    """
    grid = grid_of(target, settings)
    grid = grid._replace(log_normalizer=grid.log_normalizer - draws.left_out)
    model = Model(target, grid)
    c = target.slab_precision or 1.0
    Z = target.standardised(features)
    some = [draws.sets[i] for i in np.linspace(0, len(draws.sets) - 1, EXPANDED).astype(int)]
    at = _nearest(grid.log_kappa, 0.0), _nearest(grid.log_c, np.log(c))
    forms = model.forms(features, Z, model.expanded(some, at[1]))
    units = target.volume.units(features) if target.prior_has_volume else None
    form = Excerpt(
        features=features,
        first=np.concatenate([[0], np.cumsum(target.widths[features])]),
        gram=np.stack([f.rows(Z, np.arange(len(Z))) for f in forms]),
        information=np.stack([f.information for f in forms]),
        noise=np.array([f.noise for f in forms]),
        cosines=None if units is None else units @ units.T,
        nugget=target.volume.nugget if target.prior_has_volume else 0.0,
        power=target.diversity,
        tilt=np.where(np.isin(features, [] if excluded is None else excluded), -np.inf, model.tilt[features]),
        grid=grid,
        at=at,
        size=target.size,
        largest=max(map(len, draws.sets)),
    )
    return form if form.exact else _fitted(form, model, draws)


class _Training(NamedTuple):
    """Sets, and the evidence to fit."""

    halves: FloatArray  # (n, K) h of each outcome
    evidence: FloatArray  # (n,) log p(y | S, c) without its determinants
    log_c: FloatArray  # (n,) minus its mean
    inside: FloatArray  # (n, features) 0 or 1
    weights: FloatArray  # (n,)


class _Fit(NamedTuple):
    """Coefficients: constant, log c, its square, K slopes minus one, one for each feature."""

    coefficients: FloatArray
    bends: FloatArray  # (K,) r
    residuals: FloatArray  # (n,) leave-one-out
    loss: float


def _fitted(form: Excerpt, model: Model, draws: Draws) -> Excerpt:
    """The form, fitted to the evidence of the draws and of sets near them."""
    rng = np.random.default_rng(0)
    chosen = np.linspace(0, len(draws.sets) - 1, FITTED).astype(int)
    places = np.array([_nearest(form.grid.log_c, np.log(draws.slab_precisions[i])) for i in chosen])
    sets = [np.flatnonzero(np.isin(form.features, draws.sets[i])) for i in chosen]
    others = rng.integers(FITTED, size=THINNED + GROWN + EXCHANGED)
    places = np.concatenate([places, places[others]])
    thinned, grown, exchanged = np.split(others, [THINNED, THINNED + GROWN])
    alike = _alike(form)
    sets += [_thinned(sets[i], rng) for i in thinned] + [_grown(sets[i], form, rng) for i in grown]
    sets += [_exchanged(sets[i], alike, rng) for i in exchanged]
    data = _training(form, model, sets, places)
    fits = [_ridge(data, bend) for bend in BENDS]
    best = fits[int(np.argmin([fit.loss for fit in fits]))]
    K, drawn = len(form.noise), form.grid.log_c[places]
    slopes = np.maximum(1.0 + best.coefficients[3 : 3 + K], LEAST_SLOPE)
    # outside the range of the drawn precisions, which conditions may reach, the parabola continues as a constant
    curve = _parabola(np.clip(form.grid.log_c, drawn.min(), drawn.max()) - drawn.mean()) @ best.coefficients[1:3]
    return replace(
        form,
        noise=np.column_stack([-slopes * best.bends, best.bends, np.zeros(K)]),
        tilt=form.tilt + best.coefficients[3 + K :],
        grid=form.grid._replace(log_prior=form.grid.log_prior + curve),
        off=_off(best.residuals[:FITTED], data.inside[:FITTED]),
    )


def _nearest(values: FloatArray, value: float) -> int:
    return int(np.argmin(np.abs(values - value)))


def _thinned(S: IntArray, rng: np.random.Generator) -> IntArray:
    """A random part of S, more often most of its members than few."""
    return S[rng.random(len(S)) < 1.0 - rng.random() ** 2]


def _grown(S: IntArray, form: Excerpt, rng: np.random.Generator) -> IntArray:
    """S and up to three other features."""
    possible = np.flatnonzero(np.isfinite(form.tilt))
    return np.union1d(S, rng.choice(possible, size=min(int(rng.integers(1, 4)), len(possible)), replace=False))


def _alike(form: Excerpt) -> list[IntArray]:
    """For each feature, at most COPIES others whose first columns correlate most with its own."""
    first = form.first[:-1]
    lengths = np.sqrt(np.maximum(np.diagonal(form.gram[0])[first], 1e-300))
    cosines = np.abs(form.gram[0][np.ix_(first, first)] / np.outer(lengths, lengths))
    np.fill_diagonal(cosines, 0.0)
    cosines[:, ~np.isfinite(form.tilt)] = 0.0
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :COPIES]
    return [near[row[near] >= LEAST_ALIKE] for near, row in zip(nearest, cosines, strict=True)]


def _exchanged(S: IntArray, alike: list[IntArray], rng: np.random.Generator) -> IntArray:
    """S with one member exchanged for a similar feature; S itself if no member has one."""
    possible = [m for m in S if len(alike[m])]
    if not possible:
        return S
    m = rng.choice(possible)
    return np.union1d(np.setdiff1d(S, [m]), [rng.choice(alike[m])])


def _parabola(x: FloatArray) -> FloatArray:
    return np.column_stack([x, x * x])


def _training(form: Excerpt, model: Model, sets: list[IntArray], places: IntArray) -> _Training:
    factors = [form.factors(S, j) for S, j in zip(sets, places, strict=True)]
    evidence = np.empty(len(sets))
    for n, (S, j) in enumerate(zip(sets, places, strict=True)):
        log_c = float(form.grid.log_c[j])
        without = model.target.with_slab_precision(float(np.exp(log_c))).log_evidence(form.features[S])
        evidence[n] = without + sum(half_log_det(factor, log_c) for factor in factors[n])
    here = evidence[:FITTED]
    far = np.maximum(here.mean() - 2 * here.std() - evidence, 0.0)
    return _Training(
        halves=np.array([[0.5 * factor.explained for factor in several] for several in factors]),
        evidence=evidence,
        log_c=form.grid.log_c[places] - form.grid.log_c[places].mean(),
        inside=np.array([np.isin(np.arange(len(form.features)), S) for S in sets], dtype=np.float64),
        weights=1.0 / (1.0 + np.square(far / FAR)),
    )


def _ridge(data: _Training, bend: float) -> _Fit:
    """Weighted ridge regression, with r = bend · mean of h."""
    bends = bend * np.maximum(data.halves[:FITTED].mean(axis=0), 1.0)
    bent = bends * np.log1p(data.halves / bends)
    terms = np.column_stack(
        [np.ones(len(bent)), _parabola(data.log_c), _centred(bent, data), _centred(data.inside, data)]
    )
    penalties = np.repeat([1e-6, SLOPED, TILTED], [3, len(bends), data.inside.shape[1]])
    target, root = data.evidence - bent.sum(axis=1), np.sqrt(data.weights)
    A = terms * root[:, None]
    inverse = np.linalg.inv(A.T @ A + np.diag(penalties))
    found = inverse @ (A.T @ (target * root))
    residuals = (target - terms @ found) / (1.0 - np.sum(A @ inverse * A, axis=1))
    return _Fit(found, bends, residuals, float(data.weights @ np.square(residuals)))


def _centred(columns: FloatArray, data: _Training) -> FloatArray:
    return np.asarray(columns - np.average(columns, axis=0, weights=data.weights))


def _off(residuals: FloatArray, inside: FloatArray) -> float:
    """Largest change of an inclusion probability if the form replaces the evidence."""
    weights = np.exp(residuals.min() - residuals)
    return float(np.abs(weights @ inside / weights.sum() - inside.mean(axis=0)).max())
