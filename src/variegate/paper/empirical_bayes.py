"""Empirical Bayes: the prior's expected size and the slab precision that maximise the ELBO."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from ..inference import Target
from ..threads import one_blas_thread
from ..types import IntArray
from .natural_gradient import ascent, starts_of

ROUNDS, ITERATIONS = 10, 20  # rounds at most, and steps of q in each
SETS = 24  # from which the slab precision is learned
CHANGE = 0.05  # smaller changes of the logs of both end the rounds
PRECISIONS = (1e-3, 1e6)  # range of the slab precision


@one_blas_thread
def empirical_bayes(
    target: Target, rng: np.random.Generator | int | None, *, size: bool = True, slab: bool = True
) -> Target:
    """The target with a learned prior size and slab precision: the best ones for q, alternating with steps of q.

    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> target = Target(Gaussian(X, X @ np.ones(8)), bernoulli_prior(8, expected_size=1), family="bernoulli")
    >>> round(empirical_bayes(target, 0).prior.expected_size)
    4
    """
    rng = np.random.default_rng(rng)
    theta = next(starts_of(target, 1))
    for _ in range(ROUNDS):
        _, theta = ascent(target, theta, rng, ITERATIONS)
        q, before = target.distribution(theta), _logs(target)
        sets = target.draw(q, SETS, rng)
        target = with_best_slab(target, sets) if slab else target
        target = with_size(target, q.expected_size) if size else target
        if np.abs(_logs(target) - before).max() < CHANGE:
            break
    return target


def _logs(target: Target) -> np.ndarray:
    return np.log([target.prior.expected_size, target.slab_precision or 1.0])


def with_size(target: Target, size: float) -> Target:
    """The prior with q's expected size, where the derivative of the ELBO in α vanishes; from 1 to half of all."""
    if target.size is not None:
        return target
    prior = target.prior
    return target.with_prior(prior.rescaled(min(max(size, 1.0), max(0.5 * prior.n_items, 1.0), 0.9 * prior.rank)))


def with_best_slab(target: Target, sets: Sequence[IntArray]) -> Target:
    """The slab precision with the largest mean log evidence of the sets that are not empty."""
    sets = [S for S in sets if len(S)]
    if target.slab_precision is None or not sets:
        return target

    def loss(log_c: float) -> float:
        at = target.with_slab_precision(float(np.exp(log_c)))
        return -float(np.mean([at.log_evidence(S) for S in sets]))

    best = minimize_scalar(loss, bounds=np.log(PRECISIONS), method="bounded", options={"xatol": CHANGE / 2})
    return target.with_slab_precision(float(np.exp(best.x)))
