"""The posterior as one quadratic form, against enumeration of all sets."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from chain_problems import Enumerated, make_target, model_of
from inference_problems import correlated_data
from oracle import all_sets
from variegate.inference import ChainSettings, Target, sample
from variegate.inference.chain import excerpt_fit
from variegate.inference.chain.excerpt_fit import Draws, form_of
from variegate.inference.chain.excerpt_without import forms_without
from variegate.likelihoods import Gaussian, Logistic, NegativeBinomial
from variegate.priors import bernoulli_prior

FIXED = {"average_size": False, "average_slab": False}


def form_and_sample(target, features=None, tol=0.02, **settings):
    found = sample(target, 0, ChainSettings(tol=tol, **settings))
    features = np.arange(target.n_features) if features is None else features
    return form_of(target, found.settings, Draws.of(found, features), features), found


def inclusion_of(form, included=(), excluded=()):
    """Inclusion probabilities by summing over all sets and hyperparameters."""
    n = len(form.features)
    sets = [np.array(S, dtype=np.int64) for S in all_sets(n)]
    sets = [S for S in sets if set(included) <= set(S) and not set(excluded) & set(S)]
    sets = [S for S in sets if form.size is None or len(S) == form.size]
    places = [(i, j) for i in range(len(form.grid.log_kappa)) for j in range(len(form.grid.log_c))]
    log_p = np.array([logsumexp([form.log_joint(S, at) for at in places]) for S in sets])
    p, found = np.exp(log_p - logsumexp(log_p)), np.zeros(n)
    for S, weight in zip(sets, p, strict=True):
        found[S] += weight
    return found


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("conditions", [([], []), ([1], []), ([0], [3, 4])])
def test_for_a_number_it_is_the_posterior(size, conditions):
    target = make_target(M=8, size=size, diversity=1.0 if size else 2.5)
    form, _ = form_and_sample(target, **FIXED)
    assert form.exact
    included, excluded = conditions
    exact = Enumerated(model_of(target, included=included, excluded=excluded))
    np.testing.assert_allclose(inclusion_of(form, included, excluded), exact.inclusion, atol=1e-9)


def test_hyperparameters_are_averaged_over():
    target = make_target("bernoulli", M=6)
    form, _ = form_and_sample(target)
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    np.testing.assert_allclose(inclusion_of(form), exact.inclusion, atol=1e-9)


def test_groups_of_columns():
    X, y = correlated_data(M=7)
    likelihood, units = Gaussian(X, y, slab_precision=2.0), np.array([0, 0, 1, 2, 2, 2, 3])
    target = Target(likelihood, bernoulli_prior(4, expected_size=1.5), family="bernoulli", units=units)
    form, _ = form_and_sample(target, **FIXED)
    np.testing.assert_allclose(inclusion_of(form), Enumerated(model_of(target)).inclusion, atol=1e-9)


@pytest.mark.parametrize("task", ["logistic", "cox", "poisson", "negative binomial"])
def test_for_other_outcomes_it_is_near(task):
    target = make_target(task=task, M=7, N=150)
    form, _ = form_and_sample(target, average_size=False)
    assert not form.exact
    for included, excluded, bar in (([], [], 0.01), ([1], [], 0.03), ([], [0, 3], 0.06)):
        exact = Enumerated(model_of(target, average_slab=True, included=included, excluded=excluded))
        assert np.abs(inclusion_of(form, included, excluded) - exact.inclusion).max() < bar


def test_several_outcomes():
    X, y = correlated_data(M=7, N=150)
    other = X[:, 2] + np.random.default_rng(0).logistic(size=len(y)) > 0
    target = Target([Logistic(X, y > 0), Logistic(X, other)], bernoulli_prior(7, expected_size=2), "bernoulli")
    form, _ = form_and_sample(target, **FIXED)
    assert form.noise.shape == (2, 3)
    assert np.abs(inclusion_of(form) - Enumerated(model_of(target)).inclusion).max() < 0.05


def strong_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = 2.5 * X[:, :10].sum(axis=1) + rng.logistic(size=400) > 0
    return Target(Logistic(X, y), bernoulli_prior(30, expected_size=5), "bernoulli")


def test_far_from_the_posterior_it_does_not_prefer_small_sets(monkeypatch):
    """What an expansion alone does: at the empty set it is some hundred nats too high."""
    target = strong_classes()
    form, found = form_and_sample(target, tol=0.05)
    best, nothing = np.arange(10), np.arange(0)

    def lost(form):
        return form.log_joint(best, form.at) - form.log_joint(nothing, form.at)

    slab = target.likelihood.with_slab_precision(float(np.exp(form.grid.log_c[form.at[1]])))
    truth = slab.log_evidence(best) - slab.log_evidence(nothing) + 10 * target.prior.theta[0]
    assert truth > 80
    assert 0.6 * truth < lost(form) < 1.5 * truth
    monkeypatch.setattr(excerpt_fit, "BENDS", (50.0,))  # a straight line
    straight = form_of(target, found.settings, Draws.of(found, form.features), form.features)
    assert lost(straight) < 0.5 * truth


def test_members_that_are_left_out_still_count_for_the_size_of_the_prior():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 11))
    y = X[:, 0] + 0.35 * X[:, 1] + 0.3 * X[:, 2] + rng.normal(size=60)
    target = Target(Gaussian(X, y, slab_precision=10.0), bernoulli_prior(11, expected_size=3), "bernoulli")
    form, found = form_and_sample(target, average_slab=False)
    some = np.sort(np.argsort(-found.inclusion)[:4])
    exact = Enumerated(model_of(target, average_size=True)).inclusion[some]
    part = form_of(target, found.settings, Draws.of(found, some), some)
    alone = replace(part, grid=part.grid._replace(log_normalizer=form.grid.log_normalizer))
    off, worse = np.abs(inclusion_of(part) - exact).max(), np.abs(inclusion_of(alone) - exact).max()
    assert off < 0.02
    assert worse > 3 * off


def one_certain_feature():
    """Two classes that feature 0 nearly decides, beside a rather poor copy of it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 7))
    X[:, 1] = 0.7 * X[:, 0] + 0.7 * X[:, 1]
    y = 4 * X[:, 0] + X[:, 2] - 0.7 * X[:, 3] + rng.logistic(size=150) > 0
    return Target(Logistic(X, y, slab_precision=0.2), bernoulli_prior(7, expected_size=2), family="bernoulli")


def test_without_a_certain_feature_there_is_a_form_of_its_own():
    target = one_certain_feature()
    form, found = form_and_sample(target, average_size=False)
    one = next(one for one in forms_without(found, form) if one.features == (0,))
    exact = Enumerated(model_of(target, average_slab=True, excluded=[0])).inclusion
    assert np.abs(inclusion_of(form, excluded=[0]) - exact).max() > 0.05
    assert np.abs(inclusion_of(one.form, excluded=[0]) - exact).max() < 0.02
    assert all(0 not in S for S in one.sets)


def test_without_two_certain_features_there_is_a_form_of_its_own():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 7))
    X[:, 1], X[:, 3] = 0.4 * X[:, 0] + 0.7 * X[:, 1], 0.4 * X[:, 2] + 0.7 * X[:, 3]
    y = 4 * X[:, 0] + 4 * X[:, 2] + X[:, 4] - 0.7 * X[:, 5] + rng.logistic(size=200) > 0
    target = Target(Logistic(X, y, slab_precision=0.2), bernoulli_prior(7, expected_size=2), family="bernoulli")
    form, found = form_and_sample(target, average_size=False)
    forms = {one.features: one.form for one in forms_without(found, form)}
    assert next(iter(forms)) == (0, 2)  # the one that leaves out more is looked for first
    exact = Enumerated(model_of(target, average_slab=True, excluded=[0, 2])).inclusion
    assert np.abs(inclusion_of(forms[0, 2], excluded=[0, 2]) - exact).max() < 0.02
    assert np.abs(inclusion_of(forms[0,], excluded=[0, 2]) - exact).max() > 0.1


def test_an_exact_form_needs_no_other_and_a_fixed_size_may_leave_no_set():
    target = make_target(M=6)
    form, found = form_and_sample(target, **FIXED)
    assert forms_without(replace(found, inclusion=np.ones(6)), form) == []
    target = make_target(task="logistic", M=6, size=6)
    form, found = form_and_sample(target, **FIXED)
    assert forms_without(found, form) == []


def test_counts_without_a_certain_feature_have_their_own_dispersion():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 8))
    y = rng.poisson(np.exp(0.5 + X[:, 0] + 0.6 * X[:, 1] + 0.15 * X[:, 2]))
    target = Target(NegativeBinomial(X, y), bernoulli_prior(8, expected_size=2), family="bernoulli")
    form, found = form_and_sample(target, tol=0.02, average_size=False)
    one = next(one for one in forms_without(found, form) if one.features == (0,))
    drawn = sample(target, 1, replace(found.settings, tol=0.01), excluded=[0])
    assert np.abs(inclusion_of(one.form, excluded=[0]) - drawn.inclusion).max() < 0.06
    draws = Draws(drawn.sets, drawn.slab_precisions, Draws.of(found, form.features).left_out)
    wrong = form_of(found.target, found.settings, draws, form.features, np.array([0]))  # the dispersion of all
    assert np.abs(inclusion_of(wrong, excluded=[0]) - drawn.inclusion).max() > 0.3
