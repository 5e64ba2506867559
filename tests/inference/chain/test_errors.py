"""Sampled sets, and whether reported errors are honest."""

import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import norm

from chain_problems import Enumerated, Pace, g_test, make_target, model_of, textbook_chain, walk
from variegate.inference import ChainSettings, Target, sample
from variegate.inference.chain.errors import Batches
from variegate.likelihoods import Logistic
from variegate.likelihoods.augmentation import Predictor
from variegate.priors import bernoulli_prior

pytestmark = pytest.mark.usefixtures("chains")

NOT = {"average_size": False, "average_slab": False}
GIVEN = ChainSettings(**NOT)
NONE = np.empty(0, dtype=np.int64)
RARELY = np.array([0.2, 0.1, 1.0, 0.1, 1.0, 0.1, 0.2])


def test_sampled_sets_pass_the_g_test_and_a_chain_thinned_by_two_fails_it():
    target = make_target("dpp", M=6, r=0.9)
    model = model_of(target)
    exact = Enumerated(model)
    _, _, sets = walk(model, Pace(0.1, 30.0, 1), 3000, seed=2)
    assert g_test(sets[1:], exact) > 1e-3
    states, _ = textbook_chain(target, 6000, seed=2)
    assert g_test(states[::2], exact) < 1e-12  # |S| changes its parity with every flip


def test_the_textbook_chain_with_its_weights_agrees():
    target = make_target("dpp", M=6)
    states, weights = textbook_chain(target, 6000, seed=0)
    inclusion = np.zeros(6)
    for S, w in zip(states, weights, strict=True):
        inclusion[S] += w
    assert np.abs(inclusion / weights.sum() - Enumerated(model_of(target)).inclusion).max() < 0.05


def z_scores(target, settings, exact, seeds):
    scores = []
    for seed in seeds:
        found = sample(target, seed, settings)
        some = (exact.inclusion > 0.02) & (exact.inclusion < 0.98)
        scores.append((found.inclusion - exact.inclusion)[some] / found.inclusion_errors[some])
    return np.array(scores)


@pytest.mark.parametrize(
    ("task", "prior", "size", "seeds"),
    [
        ("gaussian", "dpp", None, 80),
        pytest.param("gaussian", "dpp", None, 200, marks=pytest.mark.slow),
        pytest.param("gaussian", "bernoulli", 3, 200, marks=pytest.mark.slow),
        pytest.param("logistic", "dpp", None, 200, marks=pytest.mark.slow),
        pytest.param("logistic", "bernoulli", 3, 200, marks=pytest.mark.slow),
    ],
)
def test_reported_errors_are_honest(task, prior, size, seeds):
    target = make_target(prior, task=task, size=size, M=8)
    settings = ChainSettings(tol=1.0, average_size=False, average_slab=False)
    scores = z_scores(target, settings, Enumerated(model_of(target)), range(seeds))
    assert 0.8 < np.sqrt(np.square(scores).mean()) < 1.25


def test_what_is_in_no_set_is_not_known_to_be_impossible():
    target = make_target("dpp", task="cox", M=8, expected_size=0.01)
    found = sample(target, 0, ChainSettings(max_laps=20, tol=1.0, **NOT))
    never = ~np.isin(np.arange(8), np.concatenate(found.sets))
    assert never.any()
    assert (found.inclusion_errors > 0).all()
    assert (Enumerated(model_of(target)).inclusion <= found.inclusion + 6 * found.inclusion_errors).all()


@pytest.mark.slow
def test_reported_errors_are_honest_with_averaged_hyperparameters():
    target = make_target("dpp", M=8)
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    scores = z_scores(target, ChainSettings(tol=1.0), exact, range(200))
    assert 0.8 < np.sqrt(np.square(scores).mean()) < 1.25


def separable_target():
    """Thirty rows whose classes a column or two separate: how large coefficients are is left open."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    X[:, 3] = 0.0
    signal = 2 * X[:, 0] + 0.5 * rng.normal(size=30)
    y = (signal > np.median(signal)).astype(float)
    return Target(Logistic(X, y), bernoulli_prior(5, expected_size=1), "bernoulli")


@pytest.mark.slow
def test_reported_errors_are_honest_for_separable_classes(monkeypatch):
    target = separable_target()
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    scores = z_scores(target, ChainSettings(), exact, range(48))
    assert 0.7 < np.sqrt(np.square(scores).mean()) < 1.25
    monkeypatch.setattr(Predictor, "log_densities", lambda self, scales: np.where(scales == 1.0, 0.0, -np.inf))
    scores = z_scores(target, ChainSettings(), exact, range(48))  # the slab precision stays: errors are too small
    assert np.sqrt(np.square(scores).mean()) > 1.3


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_a_scaled_predictor_has_the_density_of_scaled_coefficients(link):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(20, 4)), rng.normal(size=(20, 1))
    y, weights = rng.random(20) < 0.5, rng.integers(1, 3, 20).astype(float)
    likelihood = Logistic(X, y, link=link, covariates=C, sample_weight=weights)
    S, c, scales = np.array([0, 2]), 0.7, np.array([0.3, 1.0, 2.5])
    start = likelihood.draw_predictor(S, c, None, rng).auxiliary(1.0, rng)
    Zt, drawn = np.vstack([likelihood._fixed, likelihood.columns_of(S)]), rng.normal(size=4)
    predictor = likelihood.draw_predictor(S, c, start, rng)._replace(
        eta=drawn @ Zt, squares=float(np.square(drawn[:2]).sum()) / 100
    )

    def log_joint(scale):  # of β' = λβ with slab precision c/λ², times the volume element λ⁴
        b, prior = scale * drawn, np.array([0.01, 0.01, c / scale**2, c / scale**2])
        eta = np.where(y, 1, -1) * (b @ Zt)
        log_likelihood = weights @ (log_expit(eta) if link == "logit" else norm.logcdf(eta))
        return log_likelihood + 0.5 * np.log(prior).sum() - 0.5 * prior @ np.square(b) + 4 * np.log(scale)

    found, expected = predictor.log_densities(scales), np.array([log_joint(s) for s in scales])
    assert np.allclose(found - found[1], expected - expected[1])


def test_batches_give_the_ratio_and_the_error_of_the_textbook():
    rng = np.random.default_rng(0)
    x, w = rng.random((3, 5, 2)), 1 + rng.random((3, 5, 2))
    batches = Batches(3, 2)
    for lap in range(5):
        batches.add(x[:, lap], w[:, lap])
    found = batches.averages()
    ratio = x.sum(axis=(0, 1)) / w.sum(axis=(0, 1))
    residuals = x - ratio * w
    by_two = np.stack([residuals[:, 0] + residuals[:, 1], residuals[:, 2] + residuals[:, 3], residuals[:, 4]], axis=1)
    variances = [n / (n - 1) * np.square(r).sum(axis=(0, 1)) for n, r in ((15, residuals), (9, by_two))]
    assert np.allclose(found.inclusion, ratio)
    assert np.allclose(found.error, np.sqrt(np.max(variances, axis=0)) / w.sum(axis=(0, 1)))


def test_a_long_memory_is_noticed():
    rng = np.random.default_rng(0)
    walk, batches = np.zeros((4, 200)), Batches(4, 1)
    for t in range(1, 200):  # autocorrelation 0.9 from lap to lap: 19 laps are worth one
        walk[:, t] = 0.9 * walk[:, t - 1] + rng.normal(size=4)
    for lap in walk.T:
        batches.add(lap[:, None], np.ones((4, 1)))
    truth = np.sqrt(100 / 800)  # standard deviation of the mean: 1 / (1 − 0.9) / √800
    assert 0.5 * truth < batches.averages().error[0] < 2 * truth


def test_batches_grow_and_lose_nothing():
    rng = np.random.default_rng(0)
    x = rng.random((40, 2, 3))
    batches = Batches(2, 3)
    for lap in x:
        batches.add(lap, np.ones((2, 3)))
    assert batches.used <= 16
    assert np.allclose(batches.averages().inclusion, x.mean(axis=(0, 1)))


def test_chains_that_do_not_agree_are_not_believed():
    batches = Batches(4, 1)
    rng = np.random.default_rng(0)
    for _ in range(8):  # two chains stay at 0.1, two at 0.9: batches alone would be sure of one half
        batches.add(np.array([[0.1], [0.1], [0.9], [0.9]]) + 0.01 * rng.normal(size=(4, 1)), np.ones((4, 1)))
    found = batches.averages()
    assert found.error[0] > 0.2
    assert found.disagreement[0] > 100
