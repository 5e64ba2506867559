"""The best q by the ELBO: steps θ ← θ + ρ F⁻¹ Cov_q(γ, h), with h(S) = log p(y, S) − log q(S) and F = Cov_q(γ).

F⁻¹ Cov_q(γ, h) is the regression of h on γ under q, as in Algorithm 1, of many sets in each step. There are two
estimates of it from sets drawn from q. If the likelihood has flip gains and the size is free, every set informs every
feature: given the others, γ_m has probability π_m under q, and h changes by δ_m, so

    Cov(γ_m, h) = E[π_m(1 − π_m)δ_m] + Cov(π_m, E[h | the others]),

and F is known: diag(K) − K∘K. Otherwise, and if there are so few features that sets recur, h is regressed on the γ
of the sets themselves. Gains of classes, survival and counts are approximate: with 8 features, q is .01 nats further
from the best one than without them.

The ELBO has local optima, so ascents start from several places, and the one that ends highest wins.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from scipy import linalg
from scipy.special import expit

from ..dpp import IndependentSets, SetDistribution
from ..inference import ConvergenceWarning, Target, grow, polish
from ..sets import membership
from ..threads import one_blas_thread
from ..types import FloatArray, IntArray
from .fit import NEVER, Fit, flat_start, start_from

# ρ. N = 150, M = 200, blocks of 5 with r = .9, one ascent from the flat start: ELBO −341.6 with .2, .3 and .4, −344.5
# with .7, which overshoots.
STEP = 0.3
LONGEST = 3.0  # of a step, in any θ_m
# Sets in each step, if they inform every feature and if they do not. ELBO of the above: −341.62 with 64, −341.57 with
# 256; enumerated problems of up to 12 features: all within .003 nats of the best with 1,000 sets.
INFORMED, REGRESSED = 64, 1000
# Steps over which the ELBO must not have risen, and over which θ is averaged. Of 96 enumerated problems, 2 are further
# than .003 nats from the best one with 15.
WINDOW = 20
MEMBER = 4.0  # log-odds of the members of a set at which an ascent starts
UNDECIDED = 1e-3  # features with a larger p(1 − p) are solved for jointly, the others one by one
RIDGE = 0.05  # share of the diagonal added to F, for features of which q always has exactly one


@one_blas_thread
def natural_gradient(
    target: Target,
    rng: np.random.Generator | int | None,
    *,
    start: FloatArray | None = None,
    n_starts: int = 4,
    max_iter: int = 200,
) -> Fit:
    """Fit q by maximising the ELBO under the target's hyperparameters.

    From `start` (M,), such as the θ of a chain's `q`; or from a greedy set, and n_starts − 1 times from a flat θ:
    random draws decide to which of several optima an ascent leads from there.

    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> target = Target(Gaussian(X, X[:, 1] + X[:, 2]), bernoulli_prior(4, expected_size=1), family="bernoulli")
    >>> natural_gradient(target, 0).q.map()
    array([1, 2])
    """
    if n_starts < 1 or max_iter < 1:
        raise ValueError(f"n_starts and max_iter must be at least 1, got {n_starts!r} and {max_iter!r}.")
    rng = np.random.default_rng(rng)
    starts = starts_of(target, n_starts) if start is None else iter([start_from(target, start)])
    trace, theta = max((ascent(target, theta, rng, max_iter) for theta in starts), key=_level)
    if not _has_settled(trace):
        warnings.warn(
            f"The ELBO was still rising after {len(trace)} iterations; allow more (max_iter).",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Fit.of(target, theta, trace, rng)


def ascent(
    target: Target, theta: FloatArray, rng: np.random.Generator, max_iter: int
) -> tuple[list[float], FloatArray]:
    """Estimates of the ELBO, until they stop rising, and the average of the last θ."""
    informed = target.has_gains and target.size is None and not target.sets_recur
    trace: list[float] = []
    path: list[FloatArray] = []
    while len(trace) < max_iter and not _has_settled(trace):
        q = target.distribution(theta)
        sets = target.draw(q, INFORMED if informed else REGRESSED, rng)
        h, direction = _informed(target, q, sets) if informed else _regressed(target, q, sets)
        trace.append(float(h.mean()) + target.log_normalizer(q) - target.prior_log_normalizer)
        theta = theta + np.clip(STEP * direction, -LONGEST, LONGEST)
        path.append(theta)
    return trace, np.mean(path[-WINDOW:], axis=0)


def starts_of(target: Target, n: int) -> Iterator[FloatArray]:
    """Yield θ at a greedy set, if there are gains to find it by, then flat ones."""
    flat = flat_start(target)
    if target.has_gains:
        S = greedy_set(target)
        first = flat.copy()
        first[S] = np.maximum(first[S], MEMBER)
        yield first
    for _ in range(n - target.has_gains):
        yield flat


def greedy_set(target: Target) -> IntArray:
    """A set that no flip or exchange improves."""
    return polish(target, grow(target, target.size), keep_size=target.size is not None)


def _level(found: tuple[list[float], FloatArray]) -> float:
    return float(np.mean(found[0][-WINDOW:]))


def _has_settled(trace: list[float]) -> bool:
    """Whether the last estimates of the ELBO are not higher than those before them, up to the error."""
    if len(trace) < 2 * WINDOW:
        return False
    before, last = np.array(trace[-2 * WINDOW : -WINDOW]), np.array(trace[-WINDOW:])
    return bool(last.mean() - before.mean() < np.sqrt((before.var() + last.var()) / WINDOW))


def _regressed(target: Target, q: SetDistribution, sets: list[IntArray]) -> tuple[FloatArray, FloatArray]:
    """The values h (n,), without the normalisers, and their regression on γ (M,)."""
    gamma = membership(sets, target.n_features).astype(np.float64)
    value = {key: target.log_weight(S) for key, S in {S.tobytes(): S for S in sets}.items()}
    h = np.array([value[S.tobytes()] for S in sets]) - gamma @ q.theta
    off = gamma - gamma.mean(axis=0)
    F = off.T @ off + np.eye(target.n_features)  # a feature that is in no set keeps its θ
    return h, np.asarray(linalg.solve(F, off.T @ (h - h.mean()), assume_a="pos"))


def _informed(target: Target, q: SetDistribution, sets: list[IntArray]) -> tuple[FloatArray, FloatArray]:
    """The same, with the gains of every feature."""
    batch, prior, power = target.evaluate(sets), target.prior.theta - q.theta, target.excess_power
    h, change = batch.log_evidence + batch.members @ prior, batch.gains + prior
    if power:
        h, change = h + power * batch.log_volume, change + power * batch.volume_gains
    # a copy of a member has probability zero under a DPP, so its change does not matter
    change = np.nan_to_num(np.clip(change, NEVER, -NEVER), nan=0.0)
    log_odds = np.broadcast_to(q.theta, change.shape) + (batch.volume_gains if target.family_has_volume else 0.0)
    pi, others = expit(log_odds), expit(-log_odds)
    averaged = h[:, None] + (pi - batch.members) * change
    covariance = ((pi - pi.mean(axis=0)) * averaged).sum(axis=0) / (len(sets) - 1)
    return h, _solved(q, pi.mean(axis=0), covariance + (pi * others * change).mean(axis=0))


def _solved(q: SetDistribution, p: FloatArray, gradient: FloatArray) -> FloatArray:
    """F⁻¹ times the gradient (M,)."""
    variance = np.maximum(p * (1 - p), 1e-10)
    direction: FloatArray = gradient / variance
    if not isinstance(q, IndependentSets):
        some = np.flatnonzero(variance > UNDECIDED)
        K = q.marginal_kernel(some)
        F = -np.square(K)
        F[np.diag_indices_from(F)] = (1 + RIDGE) * K.diagonal() * (1 - K.diagonal()) + 1e-10
        direction[some] = linalg.solve(F, gradient[some], assume_a="pos")
    return direction
