"""Units of several columns against the likelihood of those columns."""

import numpy as np
import pytest

from variegate.likelihoods import FlipLikelihood, Gaussian, Grouped, Logistic, PredictiveLikelihood

UNIT = np.array([0, 1, 1, 2, 0, 3, 1])  # columns of a unit need not be neighbours
SETS = [np.arange(0), np.array([1]), np.array([0, 3]), np.arange(4)]


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 7)) + 1


def make(task, X):
    return Gaussian(X, X[:, 1] - X[:, 3]) if task == "gaussian" else Logistic(X, X[:, 1] > X[:, 3])


@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_it_is_the_likelihood_of_the_columns(task, X):
    plain, grouped = make(task, X), Grouped(make(task, X), UNIT)
    assert isinstance(grouped, FlipLikelihood)
    assert isinstance(grouped, PredictiveLikelihood)
    for S in SETS:
        columns = np.flatnonzero(np.isin(UNIT, S))
        assert grouped.columns(S).tolist() == columns.tolist()
        assert grouped.log_evidence(S) == pytest.approx(plain.log_evidence(columns), abs=1e-6)
        np.testing.assert_allclose(grouped.coefficients(S).mean, plain.coefficients(columns).mean, atol=1e-5)
        np.testing.assert_allclose(grouped.predictive(S, X).mean, plain.predictive(columns, X).mean, atol=1e-5)


@pytest.mark.parametrize(("task", "tolerance"), [("gaussian", 1e-9), ("logistic", 1e-5)])
def test_gains_of_units_are_differences(task, tolerance, X):
    grouped = Grouped(make(task, X), UNIT).with_slab_precision(3.0)
    assert grouped.slab_precision == 3.0
    several = np.flatnonzero(np.bincount(UNIT) > 1)
    for S in SETS:
        value, gains = grouped.flip_gains(S)
        assert value == pytest.approx(grouped.log_evidence(S), abs=tolerance)
        for g in range(4) if task == "gaussian" else several:  # EP's gains of single columns are first-order
            expected = grouped.log_evidence(np.union1d(S, [g])) - grouped.log_evidence(np.setdiff1d(S, [g]))
            assert gains[g] == pytest.approx(expected, abs=tolerance)


def test_units_of_one_column_change_nothing(X):
    plain, grouped = make("logistic", X), Grouped(make("logistic", X), np.arange(7))
    for one, other in zip(plain.flip_gains_many(SETS), grouped.flip_gains_many(SETS), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not grouped.exact_gains


@pytest.mark.parametrize("unit", [[0, 1], [0, 1, 3, 3, 3, 3, 3], [[0]], [], [0.0] * 7, ["a"] * 7])
def test_bad_numbers(unit, X):
    with pytest.raises(ValueError, match="number the unit of each of the 7 columns"):
        Grouped(make("gaussian", X), unit)
