"""The posterior as one quadratic form."""

import numpy as np
import pytest

from chain_problems import Enumerated, make_target, model_of
from inference_problems import correlated_data
from variegate.inference import ChainSettings, Target, sample
from variegate.inference.chain.form import form_of
from variegate.likelihoods import Gaussian, Grouped, Logistic
from variegate.priors import bernoulli_prior

NOTHING = np.arange(0)


def form_and_sample(target, features=None, **settings):
    found = sample(target, 0, ChainSettings(tol=0.01, **settings))
    features = np.arange(target.n_features) if features is None else features
    form = form_of(target, found.settings, found.sets, found.inclusion, features, np.random.default_rng(0))
    return form, found


def first_set(included, excluded, size, n):
    others = [m for m in range(n) if m not in included and m not in excluded]
    return np.array(sorted([*included, *others[: (size or 0) - len(included)]]), dtype=np.int64)


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("conditions", [([], []), ([1], []), ([0], [3, 4])])
def test_for_a_number_it_is_the_posterior(size, conditions):
    target = make_target(M=8, size=size)
    form, _ = form_and_sample(target, average_size=False, average_slab=False)
    assert form.exact
    included, excluded = (np.array(c, dtype=np.int64) for c in conditions)
    start = first_set(*conditions, size, 8)
    got = np.mean([form.run(included, excluded, start, np.random.default_rng(s), 4000) for s in range(3)], axis=0)
    exact = Enumerated(model_of(target, included=included, excluded=excluded))
    np.testing.assert_allclose(got, exact.inclusion, atol=0.02)


def test_groups_of_columns():
    X, y = correlated_data(M=7)
    likelihood = Grouped(Gaussian(X, y, slab_precision=2.0), np.array([0, 0, 1, 2, 2, 2, 3]))
    target = Target(likelihood, bernoulli_prior(4, expected_size=1.5), family="bernoulli")
    form, _ = form_and_sample(target, average_size=False, average_slab=False)
    got = form.run(NOTHING, NOTHING, NOTHING, np.random.default_rng(0), 6000)
    np.testing.assert_allclose(got, Enumerated(model_of(target)).inclusion, atol=0.02)


def test_for_classes_it_has_the_probabilities_of_the_chains():
    X, y = correlated_data(M=8, N=150)
    noise = np.random.default_rng(4).normal(size=len(y))
    target = Target(Logistic(X, y + noise > 0), bernoulli_prior(8, expected_size=2), family="bernoulli")
    form, found = form_and_sample(target)
    assert not form.exact
    assert len(form.grid.log_c) == 1
    got = np.mean([form.run(NOTHING, NOTHING, NOTHING, np.random.default_rng(s), 3000) for s in range(3)], axis=0)
    np.testing.assert_allclose(got, found.inclusion, atol=0.06)


def test_the_others_are_out():
    target = make_target(M=8)
    features = np.array([0, 2, 5, 7])
    form, found = form_and_sample(target, features)
    got = form.run(NOTHING, NOTHING, NOTHING, np.random.default_rng(0), 4000)
    exact = sample(target, 1, found.settings, excluded=[1, 3, 4, 6])
    np.testing.assert_allclose(got, exact.inclusion[features], atol=0.03)
