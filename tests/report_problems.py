"""Models for the tests of the report: any posterior behind a fitted estimator, and names from hell."""

from dataclasses import replace

import numpy as np

import variegate as vg

HOSTILE = [
    "<script>window.stolen = 1</script>",
    "</script><script>window.stolen = 2</script><!--",
    '"><img src=x onerror="window.stolen = 3">\' onload=\'window.stolen = 4',
    '=cmd|"/c calc"!A1',
    "+1+1",
    "-1",
    "@SUM(A1)",
    "\tTAB",
    "{{ 7 * 7 }}{% raw %}",
    "עברית \u202e evil \u202c",
    "\u2028line\u2029separators",
    "new\nline, and \"quotes\", 'too'",
    "&amp;&lt;b&gt;",
    "long" * 2500,
    "🧬" * 300,
    "\x00\x07",
    "javascript:window.stolen=5",
    "__proto__",
    "  spaces  ",
]


def posterior_model(phi, theta):
    """A fitted regressor with sets from LowRankDPP(phi, theta)."""
    M = len(theta)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, M))
    y = rng.normal(size=20)
    likelihood = vg.Gaussian(X, y)
    target = vg.Target(
        likelihood, vg.dpp_prior(phi, expected_size=min(2, min(np.shape(phi)) / 2)), phi=np.asarray(phi)
    )
    sets = vg.LowRankDPP(phi, theta).sample(20, rng)
    chain = vg.sample(target, 0, vg.ChainSettings(tol=1.0, max_laps=8, average_size=False, average_slab=False))
    shown = {"slab_precisions": np.ones(20), "nuisances": np.full(20, np.nan), "weights": np.full(20, 0.05)}
    found = replace(chain, sets=sets, inclusion=vg.LowRankDPP(phi, theta).inclusion_prob(), **shown)
    model = vg.DiverseRegressor(max_iter=1, slab_precision=1.0, expected_size=2)
    model.n_features_in_ = M
    return model.publish(model.selection(whole_candidates(M), training(X, y), found, sets[0]))


def whole_candidates(M):
    from variegate.candidates import choose_candidates

    return choose_candidates(M, np.empty(0, dtype=np.int64), None)


def training(X, y):
    from variegate.design import Design
    from variegate.selection import Training

    return Training(Design.of(X, np.ones(len(X))), None, y, None)
