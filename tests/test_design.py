"""Implicit standardisation against explicit."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from variegate import design
from variegate.design import Design, RoughDesign
from variegate.gram import GramRows


def tables(rng):
    thin = np.where(rng.random((30, 11)) < 0.3, rng.random((30, 11)), 0.0)
    return {
        "dense": rng.normal(size=(30, 11)) + 2,
        "far": rng.normal(size=(30, 11)) + 1e5,
        "fortran": np.asfortranarray(rng.normal(size=(30, 11))),
        "float32": rng.normal(size=(30, 11)).astype(np.float32),
        "sparse": csc_array(thin),
        "view": rng.normal(size=(60, 22))[::2, ::2],
    }


@pytest.mark.parametrize("kind", ["dense", "far", "fortran", "float32", "sparse", "view"])
@pytest.mark.parametrize("width", [1 << 20, 1])
def test_products_are_those_of_the_standardised_table(kind, width, rng, monkeypatch):
    monkeypatch.setattr(design, "BLOCK_BYTES", width)
    X = tables(rng)[kind]
    w = rng.uniform(0.5, 2, 30)
    full = np.asarray(X.todense() if kind == "sparse" else X, dtype=np.float64)
    mean = np.average(full, axis=0, weights=w)
    Z = (full - mean) / np.sqrt(np.average((full - mean) ** 2, axis=0, weights=w))
    got = Design.of(X, w)
    A, T = rng.normal(size=(4, 30)), rng.random((3, 30))
    S = np.array([0, 3, 10])
    np.testing.assert_allclose(got.columns(S), Z[:, S], atol=1e-9)
    for one, other in zip(got.cross_and_squares(A, T), (A @ Z, T @ Z**2), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    rough = got.roughly()
    assert isinstance(rough, RoughDesign)
    for one, other in zip(rough.cross_and_squares(A, T), (A @ Z, T @ Z**2), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("kind", ["dense", "far", "fortran", "float32", "sparse", "view"])
@pytest.mark.parametrize("halves", [False, True])
def test_gram_and_products_in_blocks_of_rows(kind, halves, rng, monkeypatch):
    for name in ("ROW_BLOCK_BYTES", "GRAM_BYTES"):
        monkeypatch.setattr(design, name, 1)
    monkeypatch.setattr(design, "MANY_ROWS", 0)
    if halves:
        monkeypatch.setattr(design, "LARGE_PRODUCT", 0)
    X = tables(rng)[kind]
    X = X if kind == "sparse" else np.tile(X, (5, 1))  # more rows than the least of a block
    X = X + 0.1 * rng.normal(size=X.shape).astype(X.dtype) if kind != "sparse" else X
    N = X.shape[0]
    full = np.asarray(X.todense() if kind == "sparse" else X, dtype=np.float64)
    Z = (full - full.mean(axis=0)) / full.std(axis=0)
    w, A, T = rng.random(N), rng.normal(size=(4, N)), rng.random((3, N))
    got = Design.of(X, np.ones(N))
    np.testing.assert_allclose(got.gram(w), Z.T @ (w[:, None] * Z), atol=1e-7)
    for one, other in zip(got.cross_and_squares(A, T), (A @ Z, T @ Z**2), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_a_large_table_is_not_copied(rng, monkeypatch):
    table = Design.of(rng.normal(size=(20, 10)), np.ones(20))
    monkeypatch.setattr(design, "ROUGH_BYTES", 8 * 20 * 10 - 1)
    assert table.roughly() is table


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e8, 1e-200])
def test_constant_columns_vanish(value, sparse):
    X = np.full((1000, 2), value)
    X[:, 1] = np.arange(1000)
    got = Design.of(csc_array(X) if sparse else X, np.full(1000, 0.3))
    assert got.inverse_scale[0] == 0
    assert (got.columns(np.array([0])) == 0).all()
    assert got.inverse_scale[1] > 0


@pytest.mark.parametrize("form", [np.asarray, csc_array])
def test_a_column_far_from_zero_is_measured_closely(form, rng):
    X = rng.normal(size=(50, 2))
    moved = X + np.array([1e12, 0.0])
    weights = rng.uniform(0.5, 2.0, size=50)
    got = Design.of(form(moved), weights)
    expected = Design.of(moved - [1e12, 0], weights)  # the digits that 1e12 leaves
    np.testing.assert_allclose(got.inverse_scale, expected.inverse_scale, rtol=1e-9)
    np.testing.assert_allclose(got.columns(np.arange(2)), expected.columns(np.arange(2)), atol=2e-4)


@pytest.mark.parametrize("form", [np.asarray, csc_array])
@pytest.mark.parametrize("unit", [1e307, 1e160, 1e-160, 1e-200, 1e-307])
def test_columns_whose_variance_no_float_can_hold(unit, form, rng):
    """Neither a constant column nor a numpy warning: an error that says what to do."""
    X = rng.uniform(1.0, 2.0, size=(30, 3))
    X[:, 1] *= unit
    with pytest.raises(ValueError, match=r"number 1, whose variance (over|under)flows; divide"):
        Design.of(form(X), np.ones(30))


@pytest.mark.parametrize("form", [np.asarray, csc_array])
def test_a_column_that_varies_in_rows_without_weight_is_constant(form):
    X = np.zeros((5, 2))
    X[:, 1], X[4, 0] = np.arange(5), 1e-200
    assert Design.of(form(X), np.array([1.0, 1, 1, 1, 0])).inverse_scale[0] == 0


def test_gram_rows_are_evicted_oldest_first():
    asked = []

    def compute(S):
        asked.extend(S.tolist())
        return np.outer(S, np.ones(10))

    rows = GramRows(compute, 10, max_bytes=3 * 80)
    for S in ([0, 1], [2], [0], [3], [0, 2], [1]):  # 3 pushes out 1, then 1 pushes out 3
        np.testing.assert_array_equal(rows.rows(np.array(S))[:, 0], S)
    assert asked == [0, 1, 2, 3, 1]
    assert rows.block(np.array([3])) is None
    np.testing.assert_array_equal(rows.block(np.array([1, 2])), [[1, 1], [2, 2]])


def test_rows_are_right_after_an_interrupt():
    """Ctrl-C while rows are computed: evicted features must not point at wrong rows."""
    hurry = [True]

    def compute(S):
        if hurry and 5 in S:
            hurry.clear()
            raise KeyboardInterrupt
        return np.outer(S, np.ones(10))

    rows = GramRows(compute, 10, max_bytes=3 * 80)
    rows.rows(np.array([0, 3]))
    rows.rows(np.array([0, 2, 4]))
    with pytest.raises(KeyboardInterrupt):
        rows.rows(np.array([0, 3, 5]))
    for S in ([0, 2], [0, 2, 4], [3, 5], [0, 3, 5]):
        np.testing.assert_array_equal(rows.rows(np.array(S))[:, 0], S)


def test_a_set_larger_than_the_cache_is_computed_directly():
    rows = GramRows(lambda S: np.outer(S, np.ones(10)), 10, max_bytes=1)
    np.testing.assert_array_equal(rows.rows(np.arange(5))[:, 0], np.arange(5))
