"""Features of several columns and several outcomes, against the likelihoods of the columns."""

import copy
import pickle

import numpy as np
import pytest

from chain_problems import model_of
from variegate.inference import Target
from variegate.likelihoods import CustomLikelihood, Gaussian, Logistic, NegativeBinomial, Poisson
from variegate.priors import bernoulli_prior

N, M = 40, 4
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, 7)) + 1
UNITS = np.array([0, 1, 1, 2, 0, 3, 1])  # columns of a feature need not be neighbours
REAL = X[:, 1] - X[:, 3]
Y, SLAB = X[:, :M], {"slab_precision": 2.0}
COUNTS = RNG.poisson(np.exp(0.3 * REAL))
MAKE = {
    "units": lambda: (UNITS, Gaussian(X, REAL)),
    "units of classes": lambda: (UNITS, Logistic(X, REAL > 0)),
    "units of counts": lambda: (UNITS, NegativeBinomial(X, COUNTS)),
    "outcomes": lambda: (None, Gaussian(Y, REAL, **SLAB), Logistic(Y, REAL > 0, **SLAB), Poisson(Y, COUNTS, **SLAB)),
    "units and outcomes": lambda: (UNITS, Gaussian(X, REAL), Gaussian(X, -X[:, 0])),
}
EXACT = ("units", "units and outcomes")
SETS = [np.arange(0), np.array([1]), np.array([0, 3]), np.arange(M)]
members = pytest.mark.parametrize("name", MAKE)


def make(name):
    units, *outcomes = MAKE[name]()
    return Target(outcomes, bernoulli_prior(M, expected_size=2), "bernoulli", units=units)


def evidence(target, S):
    """The sum over the outcomes, of all columns of the features."""
    units = np.arange(M) if target.units is None else target.units
    return sum(outcome.log_evidence(np.flatnonzero(np.isin(units, S))) for outcome in target.outcomes)


@members
def test_the_evidence_is_the_sum_of_those_of_the_columns(name):
    for target in (make(name), make(name).with_slab_precision(3.0)):
        for S in SETS:
            assert target.log_evidence(S) == pytest.approx(evidence(target, S), abs=1e-6)
            assert target.evaluate([S]).log_evidence[0] == pytest.approx(evidence(target, S), abs=1e-5)


@members
def test_gains_agree_with_evidence(name):
    target = make(name)
    for S, gains in zip(SETS, target.evaluate(SETS).gains, strict=True):
        for m in range(M):
            expected = evidence(target, np.union1d(S, [m])) - evidence(target, np.setdiff1d(S, [m]))
            # of features of several columns they are differences; of single ones approximate outcomes know the order
            rough = name not in EXACT and target.widths[m] == 1
            assert gains[m] == pytest.approx(expected, rel=0.5 if rough else 1e-9, abs=0.2 if rough else 1e-5)


@members
def test_gram_matrices_have_the_gram_rows(name):
    model = model_of(make(name))
    auxiliary, features = model.expanded(SETS[1:3], 0), np.arange(M)
    Z = model.target.standardised(features)
    for (gram, form), (rows, _), other in zip(
        model._tall_grams(auxiliary),
        model.gram_rows(features, auxiliary),
        model.forms(features, Z, auxiliary),
        strict=True,
    ):
        np.testing.assert_allclose(gram, other.rows(Z, np.arange(len(Z))), atol=1e-8)
        np.testing.assert_allclose(rows, gram, atol=1e-8)
        np.testing.assert_allclose(form.diagonal, np.diag(gram), atol=1e-8)
        np.testing.assert_allclose(form.information, other.information, atol=1e-8)


def test_units_of_one_column_change_nothing():
    plain, units = (
        Target(Logistic(X, REAL > 0), bernoulli_prior(7, expected_size=2), "bernoulli", units=given)
        for given in (None, np.arange(7))
    )
    np.testing.assert_array_equal(plain.evaluate(SETS).gains, units.evaluate(SETS).gains)
    assert not units.exact_gains


@members
def test_pickles_and_copies(name):
    target = make(name)
    value = target.log_evidence([1, 2])
    for twin in (pickle.loads(pickle.dumps(target)), copy.deepcopy(target)):
        assert twin.with_slab_precision(target.slab_precision).log_evidence([1, 2]) == pytest.approx(value, abs=2e-6)


def test_outcomes_without_a_slab_or_gains_are_named():
    outcomes = [Gaussian(X, REAL), CustomLikelihood(lambda S: 0.0, 7)]
    target = Target(outcomes, bernoulli_prior(7, expected_size=2), "bernoulli")
    assert not target.has_gains
    assert target.slab_precision is None
    with pytest.raises(ValueError, match="slab precision"):
        target.with_slab_precision(1.0)
    with pytest.raises(ValueError, match="flip_gains"):
        target.evaluate(SETS)


@pytest.mark.parametrize("units", [[0, 1], [0, 1, 3, 3, 3, 3, 3], [[0]], [], [0.0] * 7, ["a"] * 7])
def test_bad_units(units):
    with pytest.raises(ValueError, match="number the feature of each of the 7 columns"):
        Target(Gaussian(X, REAL), bernoulli_prior(4, expected_size=2), "bernoulli", units=units)


@pytest.mark.parametrize("outcomes", [[], [Gaussian(X, REAL), Gaussian(X[:, :3], REAL)]])
def test_outcomes_need_the_same_columns(outcomes):
    with pytest.raises(ValueError, match="same columns"):
        Target(outcomes, bernoulli_prior(7, expected_size=2), "bernoulli")
