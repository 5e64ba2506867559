"""Simulated designs that are hard for greedy selection: draw one data set and run all methods on it.

Every function returns rows {method: {score: number}}.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from variegate import metrics
from variegate.baselines import Problem, select
from variegate.datasets import make_blocks, make_spatial_field
from variegate.estimators import DiverseRegressor
from variegate.paper import VariationalRegressor
from variegate.sets import jaccard_distance
from variegate.tasks import Regression

from .methods import METHODS, chosen_methods

Array = npt.NDArray[Any]
Rows = dict[str, dict[str, float]]
MODE = 0.05  # a mode is a local optimum with at least this fraction of the best set's probability
REPLACED = 0.4  # Jaccard distance: a column replaced by its copy is another answer, one more column is not
DRAWN = 1000
# prior and posterior of the fits whose modes are counted; "matched" is q of the same fit as "variegate"
PAIRS = {
    "Bernoulli-DPP": ("dpp", "dpp"),
    "strict": ("bernoulli", "dpp"),
    "SpikeSlab": ("bernoulli", "bernoulli"),
    "matched": None,
    "variegate": None,
}


def blocks(settings: Any, correlation: float, rng: np.random.Generator) -> Rows:
    """Groups of collinear columns, one true column in some of them."""
    data = make_blocks(
        settings.samples, settings.features, block_size=settings.block, correlation=correlation,
        n_true=settings.true, snr=settings.snr, n_test=settings.test, rng=rng,
    )  # fmt: skip
    rows = {}
    for name, S in _chosen(settings, data.X, data.y, settings.true, rng).items():
        scores = Regression().scores(data.X[:, S], data.y, data.X_test[:, S], data.y_test)
        hit = np.isin(data.groups[data.truth], data.groups[S]).mean()
        rows[name] = {"R2": scores["R2"], "blocks": float(hit), "exact": _recall(data.truth, S)}
    return rows


def decoys(settings: Any, noise: float, rng: np.random.Generator) -> Rows:
    """Pairs of true columns, and for each pair a decoy: their sum with a little noise.

    The decoy explains y better than either column alone, so a greedy method takes it first, but still needs both.
    """
    N, pairs = settings.samples + settings.test, settings.true // 2
    X = rng.standard_normal((N, settings.features))
    truth, false = np.arange(2 * pairs), np.arange(2 * pairs, 3 * pairs)
    sums = (X[:, truth[::2]] + X[:, truth[1::2]]) / np.sqrt(2)
    X[:, false] = np.sqrt(1 - noise**2) * sums + noise * X[:, false]
    signal = X[:, truth] @ np.tile([1.0, 0.7], pairs)
    y = signal + np.sqrt(signal.var() / settings.snr) * rng.standard_normal(N)
    n, rows = settings.samples, {}
    for name, S in _chosen(settings, X[:n], y[:n], len(truth), rng).items():
        scores = Regression().scores(X[:n][:, S], y[:n], X[n:][:, S], y[n:])
        rows[name] = {"R2": scores["R2"], "exact": _recall(truth, S), "decoys": _recall(false, S)}
    return rows


def sparse_field(settings: Any, dense: float, rng: np.random.Generator) -> Rows:
    """A field measured densely in one part of the square and at few sites in the rest.

    Overshoot: how far the prediction leaves the true field's range, as a fraction of that range.
    """
    n_sites = 10 * settings.samples
    data = make_spatial_field(n_sites, settings.grid, n_true=settings.true, n_test=settings.test, rng=rng)
    sites, centres = np.asarray(data.sites), np.asarray(data.centres)
    inside = sites[:, 0] < dense
    few = max(settings.samples // 10, 3)
    rows_ = np.concatenate([np.flatnonzero(inside)[: settings.samples - few], np.flatnonzero(~inside)[:few]])
    X, y, field = data.X[rows_], data.y[rows_], data.X_test @ data.coef
    spread = float(np.ptp(field))
    rows = {}
    for name, S in _chosen(settings, X, y, settings.true, rng).items():
        A = np.column_stack([np.ones(len(X)), X[:, S]])
        predicted = np.column_stack([np.ones(len(field)), data.X_test[:, S]]) @ np.linalg.lstsq(A, y, rcond=None)[0]
        beyond = max(predicted.max() - field.max(), field.min() - predicted.min(), 0.0)
        rows[name] = {
            "overshoot": beyond / spread,
            "error": float(np.sqrt(np.mean((predicted - field) ** 2))) / spread,
            "distance": metrics.mean_pairwise_distance(centres, S),
        }
    return rows


def modes(settings: Any, samples: float, rng: np.random.Generator) -> Rows:
    """Near-copies of each true column: choosing one of each gives many equally good sets.

    All sets are enumerated. Found: the fraction of the posterior's modes (local optima under adding or dropping a
    column) among as many alternatives as there are modes, or among 1,000 drawn sets; OMP has one answer. Sets come
    from q, except for "variegate", where they come from the exact posterior.
    """
    N, copies, true, others = int(samples), 2, 3, 4
    base = rng.standard_normal((N, true, 1))
    r = settings.copy_correlation
    near = np.sqrt(r) * base + np.sqrt(1 - r) * rng.standard_normal((N, true, copies))
    X = np.column_stack([near.reshape(N, -1), rng.standard_normal((N, others))])
    y = base.sum(axis=(1, 2)) + np.sqrt(true / settings.snr) * rng.standard_normal(N)
    answer = frozenset(select("omp", Problem(X, y, "regression"), true, rng).tolist())
    rows = {}
    for name in settings.posteriors:
        target, sets = _fitted(name, X, y, rng)
        found = posterior_modes(target)
        listed = {frozenset(S.tolist()) for S in _alternatives(target, sets, len(found))}
        drawn = {frozenset(S.tolist()) for S in sets}
        rows[name] = {
            "modes": float(len(found)),
            "alternatives": float(np.mean([S in listed for S in found])),
            "sampled": float(np.mean([S in drawn for S in found])),
            "OMP": float(np.mean([answer == S for S in found])),
        }
    return rows


def _fitted(name: str, X: Array, y: Array, rng: np.random.Generator) -> tuple[Any, list[Array]]:
    """The target of a fit, with what it learned, and sets drawn from its posterior."""
    pair = PAIRS[name]
    if pair is not None:
        fit = VariationalRegressor(prior=pair[0], posterior=pair[1], random_state=rng).fit(X, y).fit_
        return fit.target, fit.q.sample(DRAWN, rng)
    post = DiverseRegressor(random_state=rng).fit(X, y).posterior_
    return post.target, (post.q if name == "matched" else post).sample(DRAWN, rng)


def _alternatives(target: Any, sets: list[Array], n: int) -> list[Array]:
    """The most probable sets, each at least REPLACED from the better ones."""
    chosen: list[Array] = []
    for S in sorted({S.tobytes(): S for S in sets}.values(), key=lambda S: -target.log_joint(S)):
        if len(chosen) < n and all(jaccard_distance(S, other) >= REPLACED for other in chosen):
            chosen.append(S)
    return chosen


def posterior_modes(target: Any) -> list[frozenset[int]]:
    """Sets that adding or dropping a column does not improve, with at least MODE times the best set's probability."""
    M = target.n_features
    values = {
        frozenset(S): target.log_joint(np.array(S, dtype=np.int64))
        for k in range(M + 1)
        for S in combinations(range(M), k)
    }
    least = max(values.values()) + np.log(MODE)
    good = [S for S, value in values.items() if value >= least]
    return [S for S in good if all(values[S ^ {m}] <= values[S] for m in range(M))]


def _chosen(settings: Any, X: Array, y: Array, size: int, rng: np.random.Generator) -> dict[str, Array]:
    """The columns that each method chooses."""
    problem = Problem(X, y, "regression")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an empty best set, which does not matter if the size is given
        return {
            name: select(METHODS[name], problem, size, np.random.default_rng(rng.integers(2**63)))
            for name in chosen_methods(settings.methods)
        }


def _recall(truth: Array, S: Array) -> float:
    return float(np.isin(truth, S).mean())


DESIGNS = {"blocks": blocks, "decoys": decoys, "field": sparse_field, "modes": modes}
