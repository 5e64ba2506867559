"""Screening against one regression at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import linregress

from variegate.screening import f_statistics, likelihood_ratios, screen

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 12)) * np.logspace(-3, 3, 12) + 5
SIGNAL = (X[:, 4] - 5) / X[:, 4].std() - (X[:, 9] - 5) / X[:, 9].std()
T = (SIGNAL + RNG.logistic(size=50) > 0.3).astype(int)


def textbook_likelihood_ratio(x, t):
    """Two optimisations with scipy, nothing shared with the batched version."""
    z = (x - x.mean()) / x.std()

    def loss(w):
        eta = w[0] + w[1] * z
        return np.logaddexp(0, eta).sum() - t @ eta

    alone = minimize(lambda a: loss([a[0], 0.0]), [0.0]).fun
    return 2 * (alone - minimize(loss, [0.0, 0.0]).fun)


def test_f_is_that_of_a_regression_per_column():
    expected = [(fit.slope / fit.stderr) ** 2 for fit in (linregress(X[:, j], SIGNAL) for j in range(12))]
    np.testing.assert_allclose(f_statistics(X, SIGNAL), expected, rtol=1e-8)


def test_likelihood_ratio_is_that_of_a_logistic_regression_per_column():
    expected = [textbook_likelihood_ratio(X[:, j], T) for j in range(12)]
    np.testing.assert_allclose(likelihood_ratios(X, T), expected, atol=1e-5)


@pytest.mark.parametrize("test", ["f", "likelihood_ratio"])
def test_the_true_columns_are_found_and_sorted(test):
    assert screen(X, T, 2, test=test).tolist() == [4, 9]
    assert screen(X, T, 100, test=test).tolist() == list(range(12))


@pytest.mark.parametrize("test", ["f", "likelihood_ratio"])
def test_constant_columns_are_last_and_ties_go_left(test):
    noise = np.random.default_rng(1).standard_normal((50, 1))
    columns = np.hstack([np.full((50, 1), 0.1), X[:, [4]], noise, X[:, [4]], X[:, [4]], np.zeros((50, 1))])
    assert screen(columns, T, 2, test=test).tolist() == [1, 3]
    assert screen(columns, T, 4, test=test).tolist() == [1, 2, 3, 4]
    assert screen(columns, T, 5, test=test).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("scale", [1e-305, 1e-200, 1e200, 1e300])
def test_units_make_no_difference(scale):
    np.testing.assert_allclose(f_statistics(X * scale, SIGNAL), f_statistics(X, SIGNAL), rtol=1e-6)
    np.testing.assert_allclose(f_statistics(X, SIGNAL * scale), f_statistics(X, SIGNAL), rtol=1e-6)
    np.testing.assert_allclose(likelihood_ratios(X * scale, T), likelihood_ratios(X, T), rtol=1e-6)


@pytest.mark.parametrize("test", ["f", "likelihood_ratio"])
@pytest.mark.parametrize("n_columns", [2, 3, 5, 8, 13, 31])
def test_copies_tie_wherever_they_stand(test, n_columns):
    columns = np.hstack([np.repeat(X[:, [9]], n_columns, axis=1), X])
    assert screen(columns, T, 1, test=test).tolist() == [0]
    statistics = (f_statistics if test == "f" else likelihood_ratios)(columns, T)
    assert len(set(statistics[[*range(n_columns), n_columns + 9]])) == 1


@pytest.mark.parametrize("statistic", [f_statistics, likelihood_ratios])
def test_weights_are_repeated_rows(statistic):
    counts = np.random.default_rng(2).integers(0, 4, 50)
    repeated = statistic(np.repeat(X, counts, axis=0), np.repeat(T, counts))
    np.testing.assert_allclose(statistic(X, T, counts), repeated, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(statistic(X, T, np.ones(50)), statistic(X, T))


@pytest.mark.parametrize("test", ["f", "likelihood_ratio"])
def test_weights_that_add_up_to_one_keep_the_order(test):
    scores = [screen(X, T, n, test, sample_weight=np.full(50, 0.02)).tolist() for n in (1, 2, 3)]
    assert scores == [screen(X, T, n, test).tolist() for n in (1, 2, 3)]


@pytest.mark.parametrize("statistic", [f_statistics, likelihood_ratios])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_tables(statistic, kind):
    table = np.where(X > 5, X, 0.0)
    weights = np.arange(50) % 3
    np.testing.assert_array_equal(statistic(kind(table), T), statistic(table, T))
    np.testing.assert_array_equal(statistic(kind(table), T, weights), statistic(table, T, weights))


@pytest.mark.parametrize("n_columns", [5, 9, 17])
def test_copies_tie_across_chunks(n_columns, monkeypatch):
    monkeypatch.setattr("variegate.screening._CHUNK", 4)
    copies = np.repeat(X[:, [9]], n_columns, axis=1)
    for statistic in (f_statistics, likelihood_ratios):
        assert len(set(statistic(copies, T))) == 1


def test_separated_classes_reach_the_bound():
    t = np.repeat([0, 1], 10)
    x = np.column_stack([t * 2.0 + np.linspace(0, 1, 20), np.linspace(-1, 1, 20)])
    np.testing.assert_allclose(likelihood_ratios(x, t), 40 * np.log(2), rtol=1e-3)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 40), st.floats(-8, 8))
def test_likelihood_ratio_never_fails_to_climb(seed, N, skew):
    """Any data: between 0 and the bound, and unchanged by units."""
    rng = np.random.default_rng(seed)
    x = np.exp(rng.standard_normal((N, 4)) * skew)
    t = np.r_[0, 1, rng.integers(0, 2, N - 2)]
    values = likelihood_ratios(x, t)
    p = t.mean()
    bound = -2 * N * (p * np.log(p) + (1 - p) * np.log(1 - p))
    assert ((values <= bound + 1e-6) & ((values >= 0) | (values == -1))).all()
    np.testing.assert_allclose(likelihood_ratios(x * 8 + 0.0, t), values, atol=1e-4)


def test_classes_can_be_words():
    words = np.where(T == 1, "stage II", "stage I")
    for labels in (words, words.astype(object)):
        np.testing.assert_array_equal(screen(X, labels, 3), screen(X, T, 3))
        np.testing.assert_allclose(likelihood_ratios(X, labels), likelihood_ratios(X, T))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, T, 0), "positive whole number"),
        ((X, T, 2, "chi2"), "likelihood_ratio"),
        ((X, T[:-1], 2), "shapes"),
        ((X, T * 0.0, 2), "y must vary"),
        ((np.where(X > 5, np.nan, X), T, 2), "missing"),
        ((X, SIGNAL, 2, "likelihood_ratio"), "y must have two classes, got 50"),
        ((X, np.where(T, np.nan, 0.0), 2), "y must not have missing values"),
        ((sparse.csr_array(np.where(X > 5, np.nan, X)), T, 2), "missing"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        screen(*arguments)


@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(50), np.zeros(50), np.full(50, np.nan)])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="sample_weight must hold 50 finite non-negative numbers"):
        screen(X, T, 2, sample_weight=weights)
