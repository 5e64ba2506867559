"""A fit frees its arrays with its last reference: the cyclic collector, which may not run for long, is not needed."""

import gc
import weakref

import numpy as np
import pytest

import variegate as vg

X = np.random.default_rng(0).normal(size=(60, 20))
RISK = X[:, 0] + np.random.default_rng(1).normal(size=60)
OUTCOMES = {
    vg.DiverseRegressor: RISK,
    vg.DiverseClassifier: RISK > 0,
    vg.DiverseCounts: np.rint(np.exp(RISK)),
    vg.DiverseSurvival: np.column_stack([np.exp(RISK), np.ones(60)]),
}
SHORT = {"max_iter": 4, "tol": 0.5, "random_state": 0}
CASES = [
    *((kind, {}) for kind in OUTCOMES),
    (vg.DiverseRegressor, {"screen": 8}),
    (vg.DiverseRegressor, {"diversity": 0.5}),
    (vg.DiverseRegressor, {"diversity": 0}),
    (vg.DiverseRegressor, {"groups": np.arange(20) // 2}),
]


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "options"), CASES, ids=str)
def test_nothing_is_left_of_a_fit(kind, options):
    gc.collect()
    gc.disable()
    try:
        model = kind(**SHORT, **options).fit(X.copy(), OUTCOMES[kind])
        model.posterior_.map(2)
        target, design = model.posterior_.target, model.selection_.training.design
        arrays = [design.X, *(a for a in (target.phi, target.prior.theta) if a is not None)]
        parts = [target, *target.outcomes, target.prior, target.volume, design, *arrays]
        left = [weakref.ref(part) for part in parts]
        del model, target, design, arrays, parts
        assert [type(each()) for each in left if each() is not None] == []
    finally:
        gc.enable()
