"""The methods that the paper compares, under its names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from variegate.baselines import Problem
from variegate.baselines.ours import Diverse, Variational
from variegate.estimators import ESTIMATORS

OURS = "Bernoulli-DPP"
LAPS = 16  # of the chains: enough for a set, if not for an error of .03 of each probability


def matched(problem: Problem, size: int | None, rng: np.random.Generator) -> Any:
    """The most probable set of the DPP that has the inclusion probabilities of the exact spike-and-slab posterior."""
    similarity = "columns" if problem.phi is None else problem.phi
    model = ESTIMATORS[problem.task](similarity=similarity, diversity=0, n_features_to_select=size, random_state=rng)
    found = model.search(problem.X, problem.y)  # not fit(), which would also choose a panel
    return np.flatnonzero(found.candidates.mask(found.posterior.q.map(size)))


# Algorithm 1, as printed for Bernoulli-DPP, omits the volume of the family and so converges to the fit with a DPP
# prior. "strict" is the DPP with the best ELBO for the spike-and-slab posterior, "matched" the one that has its exact
# inclusion probabilities. "variegate" is the most probable set of the exact posterior, "panel" the set whose rule
# comes nearest to its predictions.
METHODS: dict[str, Any] = {
    OURS: Variational("dpp", "dpp"),
    "strict": Variational("bernoulli", "dpp"),
    "matched": matched,
    "variegate": Diverse(choose="probability", max_iter=LAPS),
    "panel": Diverse(max_iter=LAPS),
    "DPP-Bernoulli": Variational("dpp", "bernoulli"),
    "SpikeSlab": Variational("bernoulli", "bernoulli"),
    "FS": "forward_score",
    "OMP": "omp",
    "Lasso": "lasso",
    "eNet": "elastic_net",
    "Random": "random",
}
BASELINES = ("SpikeSlab", "FS", "OMP", "Lasso", "eNet")  # of the paper, without random choice and our variants

COLOURS = {
    OURS: "#009E73", "strict": "#56B4E9", "matched": "#332288", "variegate": "#000000", "panel": "#882255",
    "DPP-Bernoulli": "#0072B2", "SpikeSlab": "#CC79A7", "FS": "#F0E442", "OMP": "#D55E00", "Lasso": "#E69F00",
    "eNet": "#8C564B", "Random": "#9A9A9A",
}  # fmt: skip
MARKERS = dict(zip(METHODS, "os>Dd^vP*Xh<", strict=True))


def chosen_methods(names: Iterable[str]) -> dict[str, Any]:
    """Methods by name; they must include ours."""
    wanted = list(names)
    if strange := [name for name in wanted if name not in METHODS]:
        raise ValueError(f"There is no method {strange[0]!r} in the paper; there are {', '.join(METHODS)}.")
    if OURS not in wanted:
        raise ValueError(
            f"methods must include {OURS!r}, with which the others are compared, got {', '.join(wanted)}."
        )
    return {name: METHODS[name] for name in wanted}
