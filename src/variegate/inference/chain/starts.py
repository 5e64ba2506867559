"""Different starting sets for the chains."""

import numpy as np

from ...types import IntArray
from .model import Model
from .scope import survey

STRIDE = 4  # each chain starts with this many features more than the previous one


def first_sets(model: Model, n: int, rng: np.random.Generator) -> list[IntArray]:
    """Draw n sets of sizes 0, 4, 8, …, or of the fixed size, from features that look useful on their own."""
    S = model.included
    score = survey(model, model.at_start(S, rng)).score + 1.0 / model.target.n_features
    free = np.flatnonzero(model.free)
    found = []
    for i in range(n):
        wanted = model.target.size or min(len(S) + STRIDE * i, model.target.prior.n_items)
        # ordered by independent exponential clocks: a feature is first with probability proportional to its score
        order = free[np.argsort(rng.standard_exponential(len(free)) / score[free], kind="stable")]
        found.append(model.independent(np.concatenate([S, order]), wanted))
    return found
