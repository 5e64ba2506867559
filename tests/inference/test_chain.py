"""The exact chain against enumeration: every likelihood, prior, size, condition and hyperparameter."""

import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import norm

from chain_problems import Enumerated, Pace, g_test, make_target, model_of, textbook_chain, walk
from inference_problems import correlated_data, similarity_of_columns
from variegate.dpp import LowRankDPP
from variegate.inference import ChainSettings, ConvergenceWarning, Target, sample
from variegate.inference.chain import run
from variegate.inference.chain.errors import Batches
from variegate.inference.chain.model import Position
from variegate.inference.chain.problem import part
from variegate.inference.chain.scope import scope_probabilities, survey
from variegate.inference.chain.system import D, R, U, Y, append, clear, delete
from variegate.likelihoods import CustomLikelihood, Gaussian, Grouped, Logistic, SumLikelihood
from variegate.likelihoods.augmentation import Predictor, draw
from variegate.priors import bernoulli_prior, dpp_prior

pytestmark = pytest.mark.usefixtures("chains")

NOT = {"average_size": False, "average_slab": False}
GIVEN = ChainSettings(**NOT)
NONE = np.empty(0, dtype=np.int64)
RARELY = np.array([0.2, 0.1, 1.0, 0.1, 1.0, 0.1, 0.2])


def close(found, exact):
    """Within four reported errors, and within 0.02."""
    off = np.abs(found.inclusion - exact.inclusion)
    return (off <= np.minimum(4 * found.inclusion_errors + 1e-4, 0.02)).all()


# --- the kept system ---------------------------------------------------------------------------------------------


def test_kept_system_equals_the_textbook_after_many_moves():
    target = make_target("dpp", M=8)
    model = model_of(target)
    rng = np.random.default_rng(0)
    local = model.local(NONE, np.ones(8, dtype=bool))
    problem = model.problem(local, Position(NONE, None, (0, 0)))
    G, b, c = target.likelihood._data.gram_block(np.arange(8)), target.likelihood._data.information, 10.0
    system = part(problem, 0)
    system.gram[:] = G
    clear(system, c)
    members = []
    for _ in range(200):
        j = int(rng.integers(8))
        if j in members:
            delete(system, len(members), members.index(j))
            members.remove(j)
        else:
            append(system, len(members), j, c)
            members.append(j)
    S, k = np.array(members), len(members)
    inverse = np.linalg.inv(G[np.ix_(S, S)] + c * np.eye(k))
    out = np.setdiff1d(np.arange(8), S)
    d = np.diag(G) + c - np.einsum("ij,ik,kj->j", G[S], inverse, G[S])
    assert np.allclose(system.vectors[D, out], d[out])
    assert np.allclose(system.vectors[R, out], (b - G[:, S] @ inverse @ b[S])[out])
    assert np.allclose(np.square(system.tables[Y, :k, :k]).sum(axis=0), np.diag(inverse))
    assert np.allclose(system.tables[Y, :k, :k].T @ system.vectors[U, :k], inverse @ b[S])


# --- against enumeration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("prior", ["bernoulli", "dpp"])
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_inclusion_probabilities_are_those_of_enumeration(task, prior, size, r):
    target = make_target(prior, task=task, size=size, r=r, M=8)
    found = sample(target, 1, ChainSettings(tol=0.006, average_size=False, average_slab=False))
    assert found.converged
    assert close(found, Enumerated(model_of(target)))


@pytest.mark.parametrize("size", [None, 4])
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_conditions_are_those_of_enumeration(task, size):
    target = make_target("dpp", task=task, size=size, M=9)
    include, exclude = np.array([1]), np.array([0, 4])
    settings = ChainSettings(tol=0.006, average_size=False, average_slab=False)
    found = sample(target, 1, settings, included=include, excluded=exclude)
    assert close(found, Enumerated(model_of(target, included=include, excluded=exclude)))
    assert found.inclusion[1] == 1.0
    assert (found.inclusion[exclude] == 0.0).all()
    assert all(1 in S and 0 not in S and 4 not in S for S in found.sets)


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("prior", ["bernoulli", "dpp"])
def test_averaged_hyperparameters_are_those_of_numerical_integration(prior, size):
    target = make_target(prior, size=size, M=8)
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    with pytest.warns(ConvergenceWarning):
        found = sample(target, 1, ChainSettings(tol=1e-9, max_laps=150))
    assert close(found, exact)
    assert np.abs(found.hyperparameters.probability - exact.hyperparameters).max() < 0.02


def test_averaged_hyperparameters_of_a_classification():
    target = make_target("bernoulli", task="logistic", M=6, N=40)
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    with pytest.warns(ConvergenceWarning):
        found = sample(target, 1, ChainSettings(tol=1e-9, max_laps=600))
    assert np.abs(found.inclusion - exact.inclusion).max() < 0.02
    assert np.abs(found.hyperparameters.probability - exact.hyperparameters).max() < 0.02


@pytest.mark.parametrize("time", [0.1, 20.0])  # about 3 and about 300 steps between refreshes
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_how_often_variables_are_refreshed_changes_nothing(task, time):
    target = make_target("dpp", task=task, M=7)
    model = model_of(target, average_size=True, average_slab=task == "gaussian")
    exact = Enumerated(model)
    stretches = int(np.clip(4000 / time, 800, 20_000))
    inclusion, visits, _ = walk(model, Pace(0.1, time, 1), stretches, seed=1)
    assert np.abs(inclusion - exact.inclusion).max() < 0.025
    assert np.abs(visits.sum(axis=1) - exact.hyperparameters.sum(axis=1)).max() < 0.03


@pytest.mark.parametrize("size", [None, 3])
def test_a_random_scope_changes_nothing(size):
    model = model_of(make_target("dpp", M=7, size=size))
    inclusion, _, _ = walk(model, Pace(0.1, 3.0, 2), 6000, seed=1, scope=RARELY)
    exact = Enumerated(model).inclusion
    assert np.abs(inclusion - exact).max() < 0.02
    wrong, _, _ = walk(model, Pace(0.1, 3.0, 2), 6000, seed=1, scope=RARELY, tilted=False)
    assert np.abs(wrong - exact).max() > 0.06  # members always in scope, without the odds that make up for it


@pytest.mark.parametrize("size", [None, 4])
def test_many_features_most_of_which_take_turns(size):
    """Features of noise come and go with the scope; sets have as many of them as the probabilities say."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3000))
    y = X[:, :2] @ [1.0, -1.0] + rng.normal(size=60)
    target = Target(Gaussian(X, y), bernoulli_prior(3000, expected_size=6), "bernoulli", size=size)
    found = sample(target, 1, ChainSettings(tol=0.02, average_size=False, average_slab=False))
    sizes = np.array([len(S) for S in found.sets])
    assert found.inclusion.sum() == pytest.approx(size or sizes.mean(), rel=1e-9 if size else 0.15)
    assert (found.inclusion_errors[2:] > 0).mean() > 0.99


@pytest.mark.parametrize("size", [None, 3])
def test_scopes_of_part_of_the_features_give_the_same_answer(monkeypatch, size):
    target = make_target("dpp", M=9, size=size)
    monkeypatch.setattr(run, "ALL", 1)
    monkeypatch.setattr(run, "SCOPE", 5)
    found = sample(target, 1, ChainSettings(tol=0.005, average_size=False, average_slab=False))
    assert close(found, Enumerated(model_of(target)))


@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_groups_several_outcomes_weights_and_covariates(task):
    X, y = correlated_data(M=7, task=task)
    rng = np.random.default_rng(3)
    kind = Logistic if task == "logistic" else Gaussian
    C, w = rng.normal(size=(len(X), 2)), rng.integers(1, 3, size=len(X)).astype(float)
    other = X[:, 2] + rng.normal(size=len(X)) > 0 if task == "logistic" else X[:, 2] + rng.normal(size=len(X))
    unit = np.array([0, 0, 1, 2, 2, 2, 3])
    parts = [
        Grouped(kind(X, outcome, slab_precision=2.0, covariates=C, sample_weight=w), unit) for outcome in (y, other)
    ]
    for likelihood in (parts[0], SumLikelihood(parts)):
        target = Target(likelihood, bernoulli_prior(4, expected_size=1.5), family="bernoulli")
        found = sample(target, 1, ChainSettings(tol=0.006, average_size=False, average_slab=False))
        assert close(found, Enumerated(model_of(target)))


def test_sums_in_sums_and_groups_of_sums():
    X, y = correlated_data(M=6)
    parts = [Gaussian(X, y), Gaussian(X, X[:, 1] + np.random.default_rng(0).normal(size=len(X)))]
    for likelihood in (
        Grouped(SumLikelihood(parts), np.array([0, 0, 1, 2, 3, 3])),
        SumLikelihood([SumLikelihood(parts), Gaussian(X, -y)]),
        SumLikelihood([parts[0], Logistic(X, y > 0, link="probit", sample_weight=np.full(len(X), 0.7))]),
    ):
        target = Target(likelihood, bernoulli_prior(likelihood.n_features, expected_size=2), "bernoulli")
        assert close(sample(target, 1, ChainSettings(tol=0.005, max_laps=600, **NOT)), Enumerated(model_of(target)))
    custom = SumLikelihood([parts[0], CustomLikelihood(lambda S: 0.0, 6, flip_gains=lambda S: np.zeros(6))])
    with pytest.raises(ValueError, match="needs a likelihood with a quadratic form"):
        sample(Target(custom, bernoulli_prior(6, expected_size=2), "bernoulli"), 0)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"included": [0, 1, 2]}, "Sets have 2 features; 3 cannot be included"),
        ({"included": [1], "excluded": [1, 2]}, "Feature 1 cannot be both"),
        ({"included": [9]}, "included"),
    ],
)
def test_conditions_are_checked(conditions, message):
    with pytest.raises(ValueError, match=message):
        sample(make_target(M=6, size=2), 0, **conditions)


def test_weights_between_whole_numbers_have_the_right_mean():
    eta = np.full(100_000, 0.7)
    for w in (0.4, 1.0, 2.5, 3.0):
        drawn = draw(eta, np.ones_like(eta), np.full_like(eta, w), False, np.random.default_rng(0)).precision
        exact = w / 1.4 * np.tanh(0.35)
        assert drawn.mean() == pytest.approx(exact, abs=4 * drawn.std() / np.sqrt(len(eta)) + 0.002 * exact)


def test_a_number_and_classes_share_a_set():
    X, y = correlated_data(M=6)
    both = SumLikelihood([Gaussian(X, y, slab_precision=2.0), Logistic(X, X[:, 3] + y > 0, slab_precision=2.0)])
    target = Target(both, bernoulli_prior(6, expected_size=2), family="bernoulli")
    settings = ChainSettings(tol=0.006, average_size=False, average_slab=False)
    assert close(sample(target, 1, settings), Enumerated(model_of(target)))


def test_conditions_that_no_set_meets_are_refused():
    X, y = correlated_data(M=6)
    X[:, 1] = X[:, 0]
    prior = dpp_prior(similarity_of_columns(X), expected_size=2)
    with pytest.raises(ValueError, match="never occur together"):
        sample(Target(Gaussian(X, y), prior), 0, included=np.array([0, 1]))
    with pytest.raises(ValueError, match="at most 1 of the others"):
        sample(Target(Gaussian(X, y), prior, size=4), 0, included=np.array([0, 2]), excluded=np.array([3, 4]))


def test_probit_is_that_of_enumeration():
    X, y = correlated_data(M=6, task="logistic")
    w = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    likelihood = Logistic(X, y, link="probit", sample_weight=w)
    target = Target(likelihood, bernoulli_prior(6, expected_size=2), family="bernoulli")
    assert close(sample(target, 1, ChainSettings(0.015, 300, False, False)), Enumerated(model_of(target)))


class ByEvidence(Logistic):
    """Two classes as if there were no auxiliary variables: moves are accepted by EP's evidence."""

    can_augment = False


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("averaged", [False, True])
def test_moves_accepted_by_the_evidence_lead_to_the_posterior(averaged, size):
    X, y = correlated_data(M=6, N=40, task="logistic")
    phi = similarity_of_columns(X)
    target = Target(ByEvidence(X, y, slab_precision=1.0), dpp_prior(phi, expected_size=2), size=size)
    exact = Enumerated(model_of(target, average_size=averaged, average_slab=averaged))
    found = sample(target, 1, ChainSettings(0.02, 300, averaged, averaged))
    off = np.abs(found.inclusion - exact.inclusion)
    assert (off <= np.minimum(4 * found.inclusion_errors + 1e-3, 0.06)).all()


def test_a_form_without_acceptance_would_be_wrong():
    X, y = correlated_data(M=6, N=40, task="logistic")
    target = Target(ByEvidence(X, y, slab_precision=0.1), bernoulli_prior(6, expected_size=2), family="bernoulli")
    model, rng = model_of(target), np.random.default_rng(0)
    position = model.at_start(NONE, rng)
    local = model.local(NONE, np.ones(6, dtype=bool))
    ends = []
    for _ in range(400):
        forgetful = position._replace(excess=np.nan)  # a comparison with NaN is never true: nothing is accepted
        assert np.array_equal(model.advance(forgetful, local, Pace(0.1, 3.0, 1), rng)[0].S, position.S)
        position = model.advance(position._replace(excess=-np.inf), local, Pace(0.1, 3.0, 1), rng)[0]  # all is
        ends.append(position.S)
    shares = np.bincount(np.concatenate(ends), minlength=6) / len(ends)
    assert np.abs(shares - Enumerated(model).inclusion).max() > 0.1


def test_fractional_weights_of_a_probit_go_the_second_way():
    X, y = correlated_data(M=6, N=40, task="logistic")
    w = np.random.default_rng(0).uniform(0.5, 1.5, size=len(X))
    target = Target(Logistic(X, y, link="probit", sample_weight=w), bernoulli_prior(6, expected_size=2), "bernoulli")
    found = sample(target, 1, ChainSettings(0.015, 100, False, False))
    assert np.abs(found.inclusion - Enumerated(model_of(target)).inclusion).max() < 0.05


def test_mean_field_with_a_dpp_prior_keeps_the_nugget():
    X, y = correlated_data(M=6)
    X[:, 1] = X[:, 0]
    phi = similarity_of_columns(X)
    target = Target(Gaussian(X, y), dpp_prior(phi, expected_size=2), family="bernoulli")
    assert close(sample(target, 1, GIVEN), Enumerated(model_of(target)))


# --- samples and errors --------------------------------------------------------------------------------------------


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
    ("task", "prior", "size"),
    [
        ("gaussian", "dpp", None),
        pytest.param("gaussian", "bernoulli", 3, marks=pytest.mark.slow),
        pytest.param("logistic", "dpp", None, marks=pytest.mark.slow),
        pytest.param("logistic", "bernoulli", 3, marks=pytest.mark.slow),
    ],
)
def test_reported_errors_are_honest(task, prior, size):
    target = make_target(prior, task=task, size=size, M=8)
    settings = ChainSettings(tol=1.0, average_size=False, average_slab=False)
    scores = z_scores(target, settings, Enumerated(model_of(target)), range(200))
    assert 0.8 < np.sqrt(np.square(scores).mean()) < 1.25


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


# --- how it behaves ------------------------------------------------------------------------------------------------


def test_a_seed_determines_everything_whatever_the_number_of_threads(monkeypatch):
    target = make_target("dpp", task="logistic", M=8)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = sample(target, 5)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    two = sample(target, 5)
    assert np.array_equal(one.inclusion, two.inclusion)
    assert all(np.array_equal(S, T) for S, T in zip(one.sets, two.sets, strict=True))
    assert not np.array_equal(sample(target, 6).inclusion, one.inclusion)


def test_ctrl_c_keeps_what_there_is():
    def stop(progress):
        if progress.iteration > 8:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        found = sample(make_target(M=8), 1, ChainSettings(tol=1e-6), callback=stop)
    assert found.interrupted
    assert not found.converged
    assert (found.inclusion_errors >= 0).all()
    assert len(found.sets) > 0


def test_ctrl_c_before_there_is_anything_goes_on_its_way(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_burn_in", stop)
    with pytest.raises(KeyboardInterrupt):
        sample(make_target(M=8), 1)


def test_the_limit_is_said():
    with pytest.warns(ConvergenceWarning, match="Monte Carlo error"):
        found = sample(make_target(M=8), 1, ChainSettings(tol=1e-6, max_laps=3))
    assert not found.converged
    assert found.n_iter == 3


def test_other_likelihoods_are_refused():
    likelihood = CustomLikelihood(lambda S: 0.0, n_features=3)
    with pytest.raises(ValueError, match="quadratic form"):
        sample(Target(likelihood, bernoulli_prior(3, expected_size=1), family="bernoulli"), 0)


@pytest.mark.parametrize("settings", [{"tol": 0.0}, {"tol": np.nan}, {"max_laps": 0}, {"max_laps": 2.5}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="must be"):
        ChainSettings(**settings)


# --- scope ---------------------------------------------------------------------------------------------------------


def test_scope_probabilities_sum_to_the_number_asked_for():
    score = np.random.default_rng(0).random(1000) ** 8
    scope = scope_probabilities(score, 100)
    assert abs(scope.sum() - 100) < 1e-6
    assert scope.min() >= 0.5 * 100 / 1000
    assert (np.argsort(-scope)[:5] == np.argsort(-score)[:5]).all() or scope.max() == 1.0
    assert (scope_probabilities(score, 1000) == 1.0).all()


@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_a_survey_has_the_conditionals_of_all_features(task):
    target = make_target("dpp", task=task, M=8)
    model, S, rng = model_of(target), np.array([1, 5]), np.random.default_rng(0)
    position = model.at_start(S, rng)
    local = model.local(S, np.ones(8, dtype=bool))
    found = survey(model, position)
    # the same from the chain's own kernel: no time passes, so ∫ p dt / t is p at S
    tiny = model.advance(position, local, Pace(0.1, 1e-12, 1), rng)[1]
    assert np.allclose(found.probability, tiny.inclusion / tiny.weight)
    assert (found.score >= found.probability - 1e-9).sum() >= 6  # similarity of the prior is left out of the score


# --- q with the chain's probabilities --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, 3])
def test_q_has_the_inclusion_probabilities_of_the_chain(size):
    found = sample(make_target("dpp", M=8, size=size), 1)
    assert isinstance(found.q, LowRankDPP)
    reached = found.q.inclusion_prob() if size is None else found.q.inclusion_prob_fixed_size(size)
    assert np.abs(reached - found.inclusion).max() < 2e-3


def test_q_under_conditions_is_over_the_open_features():
    found = sample(make_target("dpp", M=8), 1).given(np.array([2]), np.array([0]))
    assert found.q.items.tolist() == [1, 3, 4, 5, 6, 7]
    assert np.abs(found.q.inclusion_prob() - found.inclusion[found.q.items]).max() < 2e-3


@pytest.mark.parametrize("prior", ["bernoulli", "dpp"])
def test_a_survey_of_a_fixed_size_is_an_exchange_away(prior):
    """The mean of surveys over the posterior is the posterior's own probability; so are conditions."""
    model = model_of(make_target(prior, M=8, size=3), included=[1], excluded=[6])
    exact, rng, mean = Enumerated(model), np.random.default_rng(0), 0.0
    for S, p in zip(exact.sets, exact.probability, strict=True):
        mean = mean + p * survey(model, model.at_start(S, rng)).probability
    assert np.allclose(mean, exact.inclusion, atol=1e-8)
