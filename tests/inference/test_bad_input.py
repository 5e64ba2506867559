"""What users really have, through Target, solvers and Posterior: a right answer or a clear error, for every pair."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from chain_problems import Enumerated, model_of
from inference_problems import PAIRS, Exact
from variegate.inference import ChainSettings, Target, sample
from variegate.likelihoods import Gaussian, Logistic
from variegate.paper import natural_gradient
from variegate.posterior import Posterior
from variegate.priors import bernoulli_prior, dpp_prior


def table(case, rng):
    """X (N, M), whose column 0 matters; copies, zeros, and shapes at the edge."""
    N, M = {"one row": (2, 4), "one column": (30, 1)}.get(case, (30, 5))
    X = rng.normal(size=(N, M))
    if case == "copies":
        X[:, 1] = X[:, 2] = X[:, 0]
    if case == "all copies":
        X[:] = X[:, :1]
    if case == "zero column":
        X[:, 3] = 0.0
    return X


def make(case, pair, task, size):
    rng = np.random.default_rng(0)
    X = table(case, rng)
    signal = 2 * X[:, 0] + 0.5 * rng.normal(size=len(X))
    if case == "one row" and task == "gaussian":
        X, signal = X[:1], signal[:1]
    y = (signal > np.median(signal)).astype(float) if task == "logistic" else signal
    likelihood = Logistic(X, y) if task == "logistic" else Gaussian(X, y)
    norms = np.linalg.norm(X, axis=0)
    phi = (X / np.where(norms > 0, norms, 1.0)).T.copy() if len(X) > 2 else np.eye(X.shape[1])
    M, rank = len(phi), np.linalg.matrix_rank(phi)
    expected = 0.5 * min(rank, 2)
    prior = (
        bernoulli_prior(M, expected_size=expected)
        if pair[0] == "bernoulli"
        else dpp_prior(phi, expected_size=expected)
    )
    return Target(likelihood, prior, pair[1], phi=phi if pair[1] == "dpp" else None, size=size)


def every_table(test, pairs=PAIRS):
    for mark in [
        pytest.mark.parametrize("size", [None, 1], ids=["free", "fixed"]),
        pytest.mark.parametrize("task", ["gaussian", "logistic"]),
        pytest.mark.parametrize("pair", pairs, ids="/".join),
        pytest.mark.parametrize(
            "case",
            [
                "copies",
                "zero column",
                "one row",
                *(pytest.param(c, marks=pytest.mark.slow) for c in ("all copies", "one column")),
            ],
        ),
    ]:
        test = mark(test)
    return test


@partial(every_table, pairs=[("dpp", "dpp"), ("bernoulli", "bernoulli")])  # the chain has no use for q
def test_chains_have_right_answers_on_hard_tables(case, pair, task, size):
    target = make(case, pair, task, size)
    found = sample(target, np.random.default_rng(0), ChainSettings(tol=0.02))
    assert found.converged
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    assert (np.abs(found.inclusion - exact.inclusion) <= 4 * found.inclusion_errors + 1e-3).all()
    if case == "zero column" and pair[0] == "dpp":
        assert found.inclusion[3] == 0.0  # a zero row of phi has prior probability zero
    posterior = Posterior(found)
    best = posterior.map()
    assert found.target.log_joint(best) >= max(map(found.target.log_joint, posterior.sample(20, 0))) - 1e-4
    assert posterior.diagnostics().largest_error <= 0.02
    assert np.isfinite(posterior.predict(np.zeros((2, target.n_features))).mean).all()


@every_table
@pytest.mark.filterwarnings("ignore::variegate.inference.ConvergenceWarning")
def test_hard_tables_have_right_answers(case, pair, task, size):
    target = make(case, pair, task, size)
    found = natural_gradient(target, 0, n_starts=2)
    exact, p = Exact(target), found.inclusion
    truth = exact.log_evidence - exact.divergence(found.q.theta)[0]
    # 400 sets may miss what has a probability of a thousandth
    assert found.elbo == pytest.approx(truth, abs=4 * found.elbo_error + 0.02)
    assert ((p >= 0) & (p <= 1)).all()
    if case == "zero column" and "dpp" in pair:
        assert p[3] == 0.0  # a zero row of phi has probability zero under a DPP
    assert p.sum() == pytest.approx(np.exp(exact.log_q(found.q.theta)) @ exact.gamma.sum(axis=1), abs=1e-6)
    assert exact.divergence(found.q.theta)[0] - exact.smallest_divergence(n_starts=4) < 0.05


def good():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    return X, X[:, 0] + rng.normal(size=20)


def poisoned(value):
    X, _ = good()
    X[3, 2] = value
    return X


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: Gaussian(poisoned(np.nan), y), "X must be finite, got 1 NaN"),
        (lambda X, y: Logistic(poisoned(np.inf), y > 0), "X must be finite"),
        (lambda X, y: Gaussian(X, np.where(y > 1, np.nan, y)), "y must be finite"),
        (lambda X, y: Gaussian(X[:, :0], y), "at least one row and one column"),
        (lambda X, y: Gaussian(X[:0], y[:0]), "at least one row and one column"),
        (lambda X, y: Gaussian(X, y[:-1]), r"shape \(20,\)"),
        (lambda X, y: Logistic(X, y), "only 0 and 1"),
        (lambda X, y: Logistic(X[:1], y[:1] > 0), "both classes"),
        (lambda X, y: Logistic(X, np.ones(20)), "both classes"),
        (lambda X, y: dpp_prior(poisoned(np.nan)[:4], expected_size=1), "finite"),
        (lambda X, y: dpp_prior(np.zeros((4, 3)), expected_size=1), "expected_size must be above 0 and below 0"),
        (
            lambda X, y: Target(Gaussian(X, y), dpp_prior(np.eye(3), expected_size=1)),
            "same number of features, got 4 and 3",
        ),
        (lambda X, y: Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), "dpp", phi=np.eye(3)), "4 rows"),
        (
            lambda X, y: Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), "dpp", phi=poisoned(np.nan)[:4]),
            "finite",
        ),
        *(
            (lambda X, y, phi=phi: Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), phi=phi), message)
            for phi, message in [
                (csr_array(np.eye(4)), "Pass phi.toarray"),
                (np.ones(4), "phi must be a matrix"),
                (1j * np.eye(4), "phi must be real"),
            ]
        ),
        (lambda X, y: Target(len, bernoulli_prior(4, expected_size=1), "bernoulli"), r"CustomLikelihood\(function"),
        (lambda X, y: Gaussian(X, y, slab_precision="auto"), "slab_precision must be a finite number .* got 'auto'"),
        (lambda X, y: Gaussian([[1, 2], [3]], y), "X must have rows of equal length"),
        (lambda X, y: dpp_prior(csr_array(np.eye(4)), expected_size=1), "Pass phi.toarray"),
        (lambda X, y: dpp_prior(3.0, expected_size=1), "phi must be a matrix"),
        (
            lambda X, y: Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), "bernoulli", size=5),
            "between 0 and 4",
        ),
        (lambda X, y: Target(Gaussian(X, y), dpp_prior(np.eye(4)[:, :2], expected_size=1), size=3), "rank of phi"),
        (lambda X, y: Target(Gaussian(X, y), dpp_prior(np.ones((4, 3)), expected_size=0.5), size=2), "rank of phi"),
    ],
)
def test_errors_at_the_boundary(call, message):
    with pytest.raises(ValueError, match=message):
        call(*good())
