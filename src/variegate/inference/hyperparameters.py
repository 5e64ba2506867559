"""Empirical Bayes: prior size α and slab precision c where the ELBO is largest."""

from collections.abc import Sequence

import numpy as np

from ..dpp import LowRankDPP
from ..dpp.sets import IntArray
from ..likelihoods import FlipLikelihood
from .target import Target

SMALLEST_SIZE = 1.0  # the expected size is never learned below one feature
PRECISION_RANGE = (1e-3, 1e6)
LARGEST_STEP = np.log(8.0)  # in log c, at once
SETS_FOR_SLAB = 24


def learn_size(target: Target, expected_size: float, least_change: float = 0.1) -> Target:
    """The prior whose expected size is that of q: there the derivative of the ELBO in α vanishes.

    A change of less than `least_change`, in logs, is left alone.
    """
    prior = target.prior
    largest = 0.9 * min(prior.phi.shape) if isinstance(prior, LowRankDPP) else 0.9 * prior.n_items
    size = min(max(expected_size, SMALLEST_SIZE), max(0.5 * target.n_features, SMALLEST_SIZE), largest)
    if abs(np.log(size / prior.expected_size)) < least_change:
        return target
    try:
        return target.with_prior(prior.rescaled(size))
    except ValueError:  # phi has a lower rank than its shape says: the prior cannot expect that many features
        return target


def learn_slab_precision(target: Target, sets: Sequence[IntArray], least_change: float = 0.2) -> Target:
    """C at the largest average log evidence of sets from q, by a parabola in log c, a factor of eight at most."""
    likelihood = target.likelihood
    if not isinstance(likelihood, FlipLikelihood):
        return target
    sets = [S for S in sets if len(S)][:SETS_FOR_SLAB]
    if not sets:
        return target
    here = float(np.clip(np.log(likelihood.slab_precision), *np.log(PRECISION_RANGE)))
    # the whole step even next to the range's end: a clipped grid is no longer even, and its parabola is wrong
    grid = here + LARGEST_STEP * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    values = [np.mean([likelihood.with_slab_precision(np.exp(x)).log_evidence(S) for S in sets]) for x in grid]
    best = int(np.argmax(values))
    peak = grid[best]
    if 0 < best < 4:
        left, middle, right = values[best - 1 : best + 2]
        curvature = left - 2 * middle + right
        if curvature < 0:
            peak += 0.5 * (grid[1] - grid[0]) * (left - right) / curvature
    peak = float(np.clip(peak, *np.log(PRECISION_RANGE)))
    if abs(peak - np.log(likelihood.slab_precision)) < least_change:
        return target
    return target.with_slab_precision(float(np.exp(peak)))
