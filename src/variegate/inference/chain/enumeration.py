"""The sum over all sets, if there are few of them: probabilities without Monte Carlo error."""

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from ...types import FloatArray, IntArray
from .errors import Averages
from .evidence import log_evidences
from .model import Draw, Model
from .run import MOST_KEPT, Chains
from .workspace import Workspace

MOST = 4096  # sets: all subsets of twelve features
# sets × slab precisions × (columns of a set)³: 0.2 s for twelve features of one column, 12 s for twelve of ten
WORK = 3e8
FEATURES = 128  # that can be in or out; with more than 91, only sets of one feature number at most MOST


def can_enumerate(model: Model) -> bool:
    """Whether the evidence needs no auxiliary variables, and there are few sets."""
    if not model.augments or model.at_start(model.included, np.random.default_rng(0)).auxiliary is not None:
        return False
    n, size = int(model.free.sum()), model.target.size
    if n > FEATURES:
        return False
    sets = 2**n if size is None else comb(n, size - len(model.included))
    width = float(model.target.widths[model.free].mean()) if n else 0.0
    columns = width * (n / 2 if size is None else size) + model.target.widths[model.included].sum()
    return bool(sets <= MOST and sets * len(model.grid.log_c) * (1 + columns) ** 3 <= WORK)


def enumerate_sets(model: Model) -> Chains:
    """The posterior over all sets and hyperparameters, and sets that represent it. O(J 2^M) evidences."""
    M, grid = model.target.n_features, model.grid
    local = Workspace.of(model, model.included, model.free)
    inside, log_prior = _sets(model, local.features)
    problem = local.problem(local.features, None)
    joint = log_prior[:, None] + log_evidences(problem, local.state(model.included), inside, grid.log_c)
    sizes, log_normalizer = inside.sum(axis=1), grid.log_normalizer if model.target.size is None else np.zeros(1)
    pairs, visits = np.zeros_like(joint), np.zeros(grid.log_prior.shape)

    def log_weights(i: int) -> FloatArray:
        return np.asarray(joint + (sizes * grid.log_kappa[i] - log_normalizer[i])[:, None] + grid.log_prior[i])

    largest = max(float(log_weights(i).max()) for i in range(len(grid.log_kappa)))
    for i in range(len(grid.log_kappa)):
        weights = np.exp(log_weights(i) - largest)
        pairs += weights
        visits[i] = weights.sum(axis=0)
    pairs, visits = pairs / pairs.sum(), visits / visits.sum()
    inclusion = np.zeros(M)
    inclusion[local.features] = np.minimum(pairs.sum(axis=1) @ inside, 1.0)
    inclusion[model.included] = 1.0
    rows, slabs = _systematic(pairs)
    return Chains(
        averages=Averages(inclusion, np.zeros(M), np.ones(M)),
        draws=[Draw(local.features[inside[i]], (0, int(j))) for i, j in zip(rows, slabs, strict=True)],
        visits=visits,
        laps=1,
        steps=len(inside),
        converged=True,
        interrupted=False,
    )


def _sets(model: Model, features: IntArray) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """All sets that meet the conditions, as rows over `features` (n, k), and their log prior up to a constant (n,)."""
    target, free = model.target, np.flatnonzero(model.free[features])
    fixed = np.isin(features, model.included)
    sizes = range(len(free) + 1) if target.size is None else [target.size - len(model.included)]
    subsets = [list(S) for k in sizes for S in combinations(free.tolist(), k)]
    inside = np.tile(fixed, (len(subsets), 1))
    log_prior = np.empty(len(subsets))
    for i, subset in enumerate(subsets):
        inside[i, subset] = True
        S = features[inside[i]]
        log_prior[i] = target.prior.theta[S].sum()
        if target.prior_has_volume:
            log_prior[i] += target.diversity * target.volume.log_volume(S)
    possible = log_prior > -np.inf
    return inside[possible], log_prior[possible]


def _systematic(pairs: FloatArray) -> tuple[IntArray, IntArray]:
    """Positions of MOST_KEPT pairs (set, slab precision), each as often as its probability says, to within one.

    They are ordered, so every n-th of them is such a selection too.
    """
    chosen = np.searchsorted(np.cumsum(pairs), (np.arange(MOST_KEPT) + 0.5) / MOST_KEPT * pairs.sum() * (1 - 1e-12))
    rows, slabs = np.unravel_index(chosen, pairs.shape)
    return np.asarray(rows, dtype=np.int64), np.asarray(slabs, dtype=np.int64)
