"""The exact chain against enumeration: every likelihood, prior, size, condition and hyperparameter."""

import numpy as np
import pytest
from scipy.special import logsumexp

from chain_problems import Enumerated, Pace, Workspace, advance, close, make_target, model_of, walk
from inference_problems import correlated_data, similarity_of_columns
from oracle import all_sets
from variegate.dpp import Rows
from variegate.inference import ChainSettings, ConvergenceWarning, Target, sample
from variegate.likelihoods import (
    Gaussian,
    Logistic,
    NegativeBinomial,
    Poisson,
)
from variegate.likelihoods.augmentation import draw
from variegate.priors import bernoulli_prior, dpp_prior, volume_prior

pytestmark = pytest.mark.usefixtures("chains")

NOT = {"average_size": False, "average_slab": False}
GIVEN = ChainSettings(**NOT)
NONE = np.empty(0, dtype=np.int64)
RARELY = np.array([0.2, 0.1, 1.0, 0.1, 1.0, 0.1, 0.2])


@pytest.mark.parametrize("r", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("prior", ["bernoulli", "dpp"])
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_inclusion_probabilities_are_those_of_enumeration(task, prior, size, r):
    target = make_target(prior, task=task, size=size, r=r, M=8)
    found = sample(target, 1, ChainSettings(tol=0.006, average_size=False, average_slab=False))
    assert found.converged
    assert close(found, Enumerated(model_of(target)))


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("task", ["cox", "poisson", "negative binomial"])
def test_survival_and_counts_are_those_of_enumeration(task, size):
    target = make_target("dpp", task=task, size=size, M=10)
    found = sample(target, 1, ChainSettings(tol=0.012, max_laps=400, average_size=False, average_slab=False))
    assert found.converged
    assert close(found, Enumerated(model_of(target)))


@pytest.mark.parametrize("task", ["cox", "negative binomial"])
def test_averaged_hyperparameters_of_survival_and_counts(task):
    target = make_target("bernoulli", task=task, M=6, N=40)
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    with pytest.warns(ConvergenceWarning):
        found = sample(target, 1, ChainSettings(tol=1e-9, max_laps=150))
    assert np.abs(found.inclusion - exact.inclusion).max() < 0.03
    assert np.abs(found.hyperparameters.probability - exact.hyperparameters).max() < 0.03


def test_dispersions_follow_their_posterior():
    """p(α | y) ∝ Σ_S p(S) p(y | S, α), evenly in log α."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 3))
    mean = np.exp(1 + 0.6 * X[:, 0])
    likelihood = NegativeBinomial(X, rng.negative_binomial(2.5, 2.5 / (2.5 + mean)))
    target = Target(likelihood, bernoulli_prior(3, expected_size=1), "bernoulli")
    grid = likelihood._grid
    sets = [np.array(S, dtype=np.int64) for S in all_sets(3)]
    joint = [[target.with_nuisance(a).log_joint(S) for S in sets] for a in grid]
    expected = np.exp(logsumexp(joint, axis=1) - logsumexp(joint))
    with pytest.warns(ConvergenceWarning):
        found = sample(target, 1, ChainSettings(tol=1e-9, max_laps=150, **NOT))
    counts = np.bincount(np.argmin(np.abs(found.nuisances[:, None] - grid), axis=1), minlength=len(grid))
    assert np.abs(np.cumsum(counts / counts.sum()) - np.cumsum(expected)).max() < 0.05
    assert np.exp(np.log(found.nuisances).mean()) == pytest.approx(found.target.nuisance)


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
        found = sample(target, 1, ChainSettings(tol=1e-9, max_laps=250))
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


@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_groups_several_outcomes_weights_and_covariates(task):
    X, y = correlated_data(M=7, task=task)
    rng = np.random.default_rng(3)
    kind = Logistic if task == "logistic" else Gaussian
    C, w = rng.normal(size=(len(X), 2)), rng.integers(1, 3, size=len(X)).astype(float)
    other = X[:, 2] + rng.normal(size=len(X)) > 0 if task == "logistic" else X[:, 2] + rng.normal(size=len(X))
    unit = np.array([0, 0, 1, 2, 2, 2, 3])
    parts = [kind(X, outcome, slab_precision=2.0, covariates=C, sample_weight=w) for outcome in (y, other)]
    for likelihood in (parts[0], parts):
        target = Target(likelihood, bernoulli_prior(4, expected_size=1.5), family="bernoulli", units=unit)
        found = sample(target, 1, ChainSettings(tol=0.006, average_size=False, average_slab=False))
        assert close(found, Enumerated(model_of(target)))


@pytest.mark.parametrize("diversity", [0.0, 1.0])
@pytest.mark.parametrize("size", [None, 2])
@pytest.mark.parametrize("kind", [Gaussian, Logistic, NegativeBinomial, Poisson])
def test_memory_is_not_read_before_it_is_written(kind, size, diversity, monkeypatch):
    """Features with one and with several columns; NaN in new arrays changes nothing."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 9))
    y = {Gaussian: X[:, 0] + rng.normal(size=60), Logistic: X[:, 0] + rng.logistic(size=60) > 0}
    likelihood = kind(X, y.get(kind, rng.poisson(np.exp(0.5 * X[:, 0]))), slab_precision=2.0)
    phi = similarity_of_columns(X[:, [0, 2, 3, 6, 7]])
    prior = volume_prior(Rows.of(phi), np.full(5, -1.0), diversity)

    def run():
        units = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4])
        target = Target(likelihood, prior, phi=phi, size=size, units=units)
        with pytest.warns(ConvergenceWarning):
            return sample(target, 1, ChainSettings(tol=1e-9, max_laps=3, **NOT))

    def poisoned(shape, dtype=float, **options):
        return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 99, dtype=dtype, **options)

    before = run()
    monkeypatch.setattr(np, "empty", poisoned)
    after = run()
    np.testing.assert_array_equal(before.inclusion, after.inclusion)
    assert [S.tolist() for S in before.sets] == [S.tolist() for S in after.sets]


def test_several_outcomes_with_units_and_of_two_kinds():
    X, y = correlated_data(M=6)
    parts = [Gaussian(X, y), Gaussian(X, X[:, 1] + np.random.default_rng(0).normal(size=len(X)))]
    probit = Logistic(X, y > 0, link="probit", sample_weight=np.full(len(X), 0.7))
    for outcomes, units, unseen in (
        (parts, np.array([0, 0, 1, 2, 3, 3]), 1e-4),
        ([*parts, Gaussian(X, -y)], None, 1e-4),
        ([parts[0], probit], None, 1e-3),  # sets are counted, some 2,600: all may hold a feature of 0.9997
    ):
        M = 6 if units is None else 4
        target = Target(outcomes, bernoulli_prior(M, expected_size=2), "bernoulli", units=units)
        found = sample(target, 1, ChainSettings(tol=0.01, max_laps=300, **NOT))
        assert close(found, Enumerated(model_of(target)), unseen)


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
    both = [Gaussian(X, y, slab_precision=2.0), Logistic(X, X[:, 3] + y > 0, slab_precision=2.0)]
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
    local = Workspace.of(model, NONE, np.ones(6, dtype=bool))
    ends = []
    for _ in range(400):
        forgetful = position._replace(excess=np.nan)  # a comparison with NaN is never true: nothing is accepted
        assert np.array_equal(advance(local, forgetful, Pace(0.1, 3.0, 1), rng)[0].S, position.S)
        position = advance(local, position._replace(excess=-np.inf), Pace(0.1, 3.0, 1), rng)[0]  # all is
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
