"""The kernel factor against dense kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from variegate.similarity.annotations import CosineKernel
from variegate.similarity.cholesky import pivoted_cholesky
from variegate.similarity.distances import RadialKernel
from variegate.similarity.kernel import ScaledKernel


def dense_rbf(points, bandwidth):
    d2 = ((points[:, None, :] - points[None, :, :]) ** 2).sum(-1)
    return np.exp(-d2 / bandwidth**2)


def matrix_kernel(K):
    return ScaledKernel(lambda rows, cols: K[np.ix_(rows, cols)], np.diagonal(K).copy())


def textbook_cholesky(K, pivots):
    """Pivoted Cholesky one column at a time, as in any book."""
    F = np.zeros((len(K), 0))
    for p in pivots:
        column = K[:, p] - F @ F[p]
        F = np.column_stack([F, column / np.sqrt(column[p])])
    return F


def test_two_thousand_features_within_the_stated_tolerance():
    points = np.random.default_rng(0).random((2000, 2))
    K = dense_rbf(points, 0.3)
    factor = pivoted_cholesky(RadialKernel(points, (0.3,)), 1000, 0.01, np.random.default_rng(1))
    error = np.trace(K - factor.F @ factor.F.T) / np.trace(K)
    assert error <= 0.01
    assert error == pytest.approx(factor.trace_error, abs=1e-9)
    assert factor.F.shape[1] < 100  # a tolerance of 1 % needs few columns here


def test_the_factor_is_the_textbook_one_for_the_same_pivots():
    K = dense_rbf(np.random.default_rng(2).standard_normal((60, 3)), 2.0)
    factor = pivoted_cholesky(matrix_kernel(K), 20, 0.0, np.random.default_rng(3))
    np.testing.assert_allclose(factor.F, textbook_cholesky(K, factor.pivots), atol=1e-8)


def test_near_the_best_possible_rank():
    K = dense_rbf(np.random.default_rng(4).random((400, 2)), 0.3)
    tail = np.sort(np.linalg.eigvalsh(K))[::-1][30:].sum() / 400
    errors = [pivoted_cholesky(matrix_kernel(K), 30, 0.0, np.random.default_rng(s)).trace_error for s in range(5)]
    assert tail <= min(errors)
    assert np.mean(errors) < 5 * tail


def test_pivots_follow_the_residual():
    """Distribution of the second pivot, in blocks and one at a time, by a G-test against enumeration."""
    K = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.3], [0.0, 0.3, 1.0]])
    expected = np.zeros((3, 3))
    for i in range(3):
        residual = 1 - K[:, i] ** 2
        expected[i] = residual / residual.sum() / 3
    rng = np.random.default_rng(5)
    for block in (1, 8):
        counts = np.zeros((3, 3))
        for _ in range(1000):
            first, second = pivoted_cholesky(matrix_kernel(K), 2, 0.0, rng, block=block).pivots
            counts[first, second] += 1
        seen = expected > 0
        G = 2 * np.sum(counts[seen] * np.log(counts[seen] / (1000 * expected[seen])))
        assert counts[~seen].sum() == 0
        assert G < 20.5  # 99.9 % point of chi-square with 5 degrees of freedom
        uniform = np.where(seen, 1 / 6, 0)
        G_wrong = 2 * np.sum(counts[seen] * np.log(counts[seen] / (1000 * uniform[seen])))
        assert G_wrong > 40  # the test can fail


def test_exhausted_kernels_stop_early():
    K = np.kron(np.eye(4), np.ones((5, 5)))
    factor = pivoted_cholesky(matrix_kernel(K), 20, 0.0, np.random.default_rng(0))
    assert factor.F.shape == (20, 4)
    assert factor.trace_error == 0.0
    np.testing.assert_allclose(factor.F @ factor.F.T, K, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_any_gram_matrix_is_reproduced_at_full_rank(M, d, seed):
    B = np.random.default_rng(seed).standard_normal((M, d))
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    factor = pivoted_cholesky(CosineKernel(sparse.csr_array(B)), M, 0.0, np.random.default_rng(seed))
    assert factor.F.shape[1] <= min(M, d)
    np.testing.assert_allclose(factor.F @ factor.F.T, B @ B.T, atol=1e-7)


def test_an_indefinite_kernel_is_refused():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="positive semidefinite"):
        pivoted_cholesky(matrix_kernel(K), 2, 0.0, np.random.default_rng(0))


def test_blocks_are_never_the_whole_kernel():
    sizes = []
    points = np.random.default_rng(6).random((500, 2))
    inner = RadialKernel(points, (0.2,))

    def entries(rows, cols):
        sizes.append(len(rows) * len(cols))
        return inner.block(rows, cols)

    pivoted_cholesky(ScaledKernel(entries, np.ones(500)), 40, 0.0, np.random.default_rng(0), block=8)
    assert max(sizes) <= 500 * 8
    assert sum(sizes) <= 500 * 40 + 8 * 8 * 40
