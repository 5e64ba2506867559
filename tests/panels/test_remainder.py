"""What the best rule on a set leaves, and its changes, against least squares from scratch."""

import numpy as np
import pytest

from panel_problems import COVARIATES, REFERENCES, M, N, dense, numbers, refitted, remainder_of
from variegate.design import Design
from variegate.panels.remainder import Remainder, Units

BLOCKS = [0, 1, 1, 2, 3, 3, 3]
SETS = [[], [2], [0, 3], [1, 2, 3]]
references = pytest.mark.parametrize("name", REFERENCES)
fixed_parts = pytest.mark.parametrize("covariates", [None, COVARIATES], ids=["intercept", "covariates"])
units = pytest.mark.parametrize("unit", [None, BLOCKS], ids=["columns", "blocks"])


def close(found, expected, remainder):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * remainder.total.max())


@units
@fixed_parts
@references
def test_what_is_left_is_that_of_least_squares(name, covariates, unit):
    remainder = remainder_of(REFERENCES[name], unit, covariates)
    close(remainder.total, refitted(remainder, [], 0.0), remainder)
    for S in SETS:
        C = remainder.units.columns_of(np.array(S, dtype=int))
        for ridge in (1e-9 * remainder.weight, 0.1 * remainder.weight):
            close(remainder.left(np.array(S, dtype=int), ridge), refitted(remainder, C, ridge), remainder)
            close(remainder.best(np.array(S, dtype=int), ridge).left, refitted(remainder, C, ridge), remainder)


@units
@fixed_parts
@references
def test_changes_of_a_set_are_those_of_refitting(name, covariates, unit):
    remainder = remainder_of(REFERENCES[name], unit, covariates)
    ridge, features = 0.1 * remainder.weight, range(len(remainder.units.columns))
    for S in SETS:
        best = remainder.best(np.array(S, dtype=int), ridge)

        def left(T):
            return refitted(remainder, remainder.units.columns_of(np.array(sorted(T), dtype=int)), ridge)

        for m in set(features) - set(S):
            close(best.with_each()[m], left([*S, m]), remainder)
        without, exchanged = best.without_each(), list(best.exchanged())
        assert without.shape == (len(S), len(remainder.targets))
        assert len(exchanged) == len(S)
        for j in range(len(S)):
            rest = [*S[:j], *S[j + 1 :]]
            close(without[j], left(rest), remainder)
            for m in set(features) - set(S):
                close(exchanged[j][m], left([*rest, m]), remainder)


@pytest.mark.parametrize("name", [name for name in REFERENCES if name != "many classes"])
def test_the_curvature_is_that_of_the_expected_log_likelihood(name):
    """H (N, N) against differences of the slopes, averaged over draws and over outcomes."""
    reference = REFERENCES[name]
    drawn = reference.eta[None] if reference.draws is None else reference.draws
    if reference.curvature.shared is not None:
        drawn = reference.eta[None]
    step, total = 1e-4, np.zeros((N, N))
    for k, terms in enumerate(reference.terms):
        for eta in drawn[:, k]:
            slopes = [terms.derivatives(eta + s * step * e).slope for e in np.eye(N) for s in (1, -1)]
            total -= (np.array(slopes[::2]) - np.array(slopes[1::2])) / (2 * step)
    total /= len(drawn) * len(reference.terms)
    np.testing.assert_allclose(dense(reference.curvature), total, atol=1e-6)


@references
def test_the_fixed_part_is_projected_out(name):
    remainder = remainder_of(REFERENCES[name], covariates=COVARIATES)
    H, F = dense(remainder.curvature), remainder.fixed
    inner = F @ H @ F.T
    projected = H - H @ F.T @ np.linalg.pinv(inner, rcond=1e-10) @ F @ H
    np.testing.assert_allclose(remainder.times(np.eye(N)), projected, atol=1e-9)
    Z = remainder.design.column_rows(np.arange(M))
    np.testing.assert_allclose(remainder.rows(np.arange(M)), Z @ projected @ Z.T, atol=1e-8)
    np.testing.assert_allclose(remainder.diagonal, np.diag(Z @ projected @ Z.T), atol=1e-8)
    np.testing.assert_allclose(remainder.information, remainder.targets @ projected @ Z.T, atol=1e-8)


def test_blocks_of_one_column_are_columns():
    one, two = remainder_of(numbers(2)), remainder_of(numbers(2), np.arange(M))
    padded = Remainder(
        one.design, one.curvature, one.targets, one.fixed, Units(np.column_stack([np.arange(M), -np.ones(M, int)]))
    )
    S = np.array([1, 4])
    for remainder in (two, padded):
        np.testing.assert_allclose(remainder.best(S, 2.0).with_each(), one.best(S, 2.0).with_each())
        np.testing.assert_allclose(list(remainder.best(S, 2.0).exchanged()), list(one.best(S, 2.0).exchanged()))


def test_a_row_of_weight_two_is_two_rows():
    X, eta = np.random.default_rng(0).normal(size=(20, 4)), np.random.default_rng(1).normal(size=(1, 20))
    w = np.tile([2.0, 1.0, 0.0, 1.0], 5)
    rows = np.repeat(np.arange(20), w.astype(int))
    S = np.array([0, 2])

    def left(X, eta, w):
        curvature = REFERENCES["numbers"].curvature._replace(precision=w, information=np.zeros(len(w)))
        return Remainder(Design.of(X, w), curvature, eta, np.ones((1, len(w))), Units.of(np.arange(4))).left(S, 0.3)

    np.testing.assert_allclose(left(X, eta, w), left(X[rows], eta[:, rows], np.ones(len(rows))))


def test_dependent_columns_add_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    X = np.column_stack([X, X[:, 0], X[:, 0] - 2 * X[:, 1], np.ones(30)])  # a copy, a combination and a constant
    curvature = REFERENCES["numbers"].curvature._replace(precision=np.ones(30), information=np.zeros(30))
    remainder = Remainder(
        Design.of(X, np.ones(30)), curvature, rng.normal(size=(2, 30)), np.ones((1, 30)), Units.of(np.arange(6))
    )
    best = remainder.best(np.array([0, 1]), 1e-9 * 30)
    np.testing.assert_allclose(best.with_each()[[3, 4, 5]], np.tile(best.left, (3, 1)), rtol=1e-6)
    np.testing.assert_allclose(
        remainder.left(np.arange(6), 1e-9 * 30), remainder.left(np.arange(3), 1e-9 * 30), rtol=1e-6
    )
