"""Empirical Bayes: prior size α and slab precision c that maximise the ELBO."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ...types import IntArray
from ..chain.grid import PriorSizes
from ..target import Target
from . import tuning


def learn_size(target: Target, expected_size: float, least_change: float) -> Target:
    """Give the prior the expected size of q, where the derivative of the ELBO in α vanishes.

    Changes smaller than `least_change`, in logs, are ignored.
    """
    prior = target.prior
    largest = 0.9 * (prior.n_items if prior.rows is None else min(prior.rows.phi.shape))
    size = min(max(expected_size, tuning.SMALLEST_SIZE), max(0.5 * target.n_features, tuning.SMALLEST_SIZE), largest)
    sizes = PriorSizes.of(target)  # includes features that were left out
    if abs(np.log(size / sizes.expected(0.0))) < least_change:
        return target
    try:
        return target.with_prior(prior.shifted(sizes.shift(size)) if target.others else prior.rescaled(size))
    except ValueError:  # the rank of phi is below its smaller dimension, and too low for this size
        return target


def learn_slab_precision(target: Target, sets: Sequence[IntArray], least_change: float) -> Target:
    """Maximise the average log evidence of sets in c, by a parabola in log c; c changes by at most a factor of 8."""
    c = target.slab_precision
    if c is None:
        return target
    sets = [S for S in sets if len(S)][: tuning.SLAB_SETS]
    if not sets:
        return target
    here = float(np.clip(np.log(c), *np.log(tuning.PRECISION_RANGE)))
    step = tuning.LARGEST_STEP / 2

    @cache
    def value(i: int) -> float:
        at = target.with_slab_precision(float(np.exp(here + i * step)))
        return float(np.mean([at.log_evidence(S) for S in sets]))

    best = max((0, -1, 1), key=value)
    best = max((best, 2 * best), key=value)
    peak = here + best * step
    if abs(best) < 2:
        left, middle, right = (value(best + i) for i in (-1, 0, 1))
        curvature = left - 2 * middle + right
        if curvature < 0:
            peak += 0.5 * step * (left - right) / curvature
    # clipped last: a parabola through clipped points would be wrong
    peak = float(np.clip(peak, *np.log(tuning.PRECISION_RANGE)))
    if abs(peak - np.log(c)) < least_change:
        return target
    return target.with_slab_precision(float(np.exp(peak)))
