"""Small DPPs of every kind, each with its enumeration."""

from functools import cache

import numpy as np

from oracle import enumerate_dpp, enumerate_independent
from variegate import IndependentSets, LowRankDPP

# name: (M, d, rank or None)
SHAPES = {
    "full rank": (7, 7, None),
    "fewer dimensions than items": (8, 4, None),
    "more dimensions than items": (5, 9, None),
    "deficient": (7, 6, 3),
    "one item": (1, 2, None),
    "one dimension": (6, 1, None),
}
NAMES = [*SHAPES, "duplicate and zero rows", "independent"]


@cache
def problem(name, seed=0):
    """(distribution, enumeration)."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    if name == "independent":
        theta = rng.normal(size=7)
        return IndependentSets(theta), enumerate_independent(theta)
    if name == "duplicate and zero rows":
        phi = rng.normal(size=(8, 5))
        phi[3], phi[6], phi[5] = phi[0], -2 * phi[0], 0.0
    else:
        M, d, rank = SHAPES[name]
        phi = rng.normal(size=(M, d))
        if rank is not None:  # whole numbers, so that the product is deficient without rounding
            phi = (rng.integers(-3, 4, size=(M, rank)) @ rng.integers(-3, 4, size=(rank, d))).astype(float)
    theta = rng.normal(size=len(phi))
    return LowRankDPP(phi, theta), enumerate_dpp(phi, theta)
