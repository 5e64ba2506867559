"""Predictions, their uncertainty, and coefficients."""

import numpy as np
import pytest
from scipy.special import expit

import variegate as vg
from estimator_problems import QUICK
from variegate.datasets import make_blocks

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
RNG = np.random.default_rng(2)
X = RNG.normal(size=(70, 9)) * np.arange(1, 10) + 3
X[:, 4] = X[:, 0] + 0.2 * RNG.normal(size=70)
Y = X[:, 0] - 0.3 * X[:, 3] + 0.7 * RNG.normal(size=70)


def test_averaged_coefficients_are_the_averaged_prediction():
    model = vg.DiverseRegressor(always_include=[8], **QUICK).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, atol=1e-8)


def test_coefficients_of_the_chosen_set_are_those_of_the_likelihood():
    model = vg.DiverseRegressor(n_features_to_select=3, slab_precision=1e-9, **QUICK).fit(X, Y)
    chosen = np.flatnonzero(model.support_)
    ols, *_ = np.linalg.lstsq(np.column_stack([np.ones(70), X[:, chosen]]), Y, rcond=None)
    np.testing.assert_allclose([model.map_intercept_, *model.map_coef_[chosen]], ols, rtol=1e-6)
    assert not model.map_coef_[~model.support_].any()


def test_predictions_of_the_selected_set_alone():
    model = vg.DiverseRegressor(n_features_to_select=3, average=False, **QUICK).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, model.map_coef_)
    np.testing.assert_allclose(model.predict(X), X @ model.map_coef_ + model.map_intercept_, atol=1e-8)


def test_standard_deviation_and_interval_agree_with_draws_from_the_mixture():
    model = vg.DiverseRegressor(**QUICK).fit(X, Y)
    mean, std = model.predict(X[:5], return_std=True)
    (law,) = model._laws(X[:5])
    rng = np.random.default_rng(0)
    component = rng.choice(len(law.weights), 200_000, p=law.weights)
    draws = law.means[component] + law.scales[component] * rng.standard_t(law.dof, (200_000, 1))
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.02)
    low, high = model.predict_interval(X[:5], level=0.9).T
    np.testing.assert_allclose(((draws > low) & (draws < high)).mean(axis=0), 0.9, atol=0.005)


def test_probabilities_and_decisions():
    model = vg.DiverseClassifier(**QUICK).fit(X, Y.mean() < Y)
    p = model.predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(1)
    np.testing.assert_allclose(expit(model.decision_function(X)), p[:, 1], atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), p[:, 1] > 0.5)
    low, high = model.predict_interval(X).T
    assert ((low < p[:, 1]) & (p[:, 1] < high)).all()
    three = vg.DiverseClassifier(**QUICK).fit(X, np.digitize(Y, np.quantile(Y, [0.3, 0.7])))
    assert three.predict_interval(X).shape == (70, 3, 2)
    np.testing.assert_array_equal(three.decision_function(X).argmax(axis=1), three.predict(X))


def test_predictions_do_not_depend_on_earlier_ones():
    model = vg.DiverseClassifier(**QUICK).fit(X, Y.mean() < Y)
    first = model.predict_proba(X)
    model.posterior_.alternatives(3)
    model.path([1, 4])
    np.testing.assert_array_equal(model.predict_proba(X), first)


@pytest.mark.slow
def test_intervals_cover():
    """95 % intervals over 200 simulated data sets: between 92 and 98 % of the outcomes are inside."""
    inside = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        data = make_blocks(80, 20, block_size=5, n_true=3, correlation=0.9, rng=rng)
        train, test = np.arange(60), np.arange(60, 80)
        model = vg.DiverseRegressor(random_state=seed).fit(data.X[train], data.y[train])
        low, high = model.predict_interval(data.X[test]).T
        inside.append(((low < data.y[test]) & (data.y[test] < high)).mean())
    assert 0.92 <= np.mean(inside) <= 0.98


@pytest.mark.slow
def test_probabilities_are_calibrated():
    """Among cases with probability about p a share p is positive, by tenths, and log loss is near the truth's."""
    said, happened, true = [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(600, 12))
        p = expit(1.5 * Z[:, 0] - Z[:, 1] + 0.5)
        y = rng.random(600) < p
        model = vg.DiverseClassifier(max_iter=15, random_state=seed).fit(Z[:150], y[:150])
        said.append(model.predict_proba(Z[150:])[:, 1])
        happened.append(y[150:])
        true.append(p[150:])
    said, happened, true = map(np.concatenate, (said, happened, true))
    tenth = np.minimum((said * 10).astype(int), 9)
    for t in range(10):
        here = tenth == t
        error = 3 * np.sqrt(0.25 / here.sum())
        assert abs(said[here].mean() - happened[here].mean()) < 0.02 + error, t
    loss = -np.where(happened, np.log(said), np.log1p(-said)).mean()
    best = -np.where(happened, np.log(true), np.log1p(-true)).mean()
    assert loss < best + 0.02
