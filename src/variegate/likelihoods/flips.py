"""One Cholesky factor, all M neighbours: linear algebra shared by exact and approximate evidences.

For a Gaussian (pseudo-)model with information matrix A = X̃_SᵀTX̃_S + P₀ and information vector r = X̃_Sᵀb,
log p(y | S) depends on S through log|A| and rᵀA⁻¹r only. Adding column m multiplies |A| by its Schur
complement d_m and adds e_m²/d_m; removing it is the same with d_m = 1/[A⁻¹]_mm, e_m = μ_m d_m, μ = A⁻¹r.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from ..types import FloatArray


class Factor(NamedTuple):
    """A = LLᵀ, and quantities that follow from it."""

    L: FloatArray  # (k, k) lower
    u: FloatArray  # (k,) L⁻¹r

    @property
    def log_det(self) -> float:
        """log|A|."""
        return 2.0 * float(np.log(self.L.diagonal()).sum())

    @property
    def explained(self) -> float:
        """rᵀA⁻¹r."""
        return float(self.u @ self.u)

    def mean(self) -> FloatArray:
        """μ = A⁻¹r, shape (k,)."""
        if not len(self.u):
            return self.u
        out: FloatArray = blas.dtrsv(self.L, self.u, lower=1, trans=1)
        return out

    def half_solve(self, B: FloatArray) -> FloatArray:
        """Return L⁻¹B for B (k, n) C-contiguous; overwrites B."""
        if not B.size:
            return B
        # in column-major terms: Bᵀ L⁻ᵀ, so nothing is transposed in memory
        out: FloatArray = blas.dtrsm(1.0, self.L, B.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
        return out

    def inverse(self) -> FloatArray:
        """A⁻¹ (k, k)."""
        V = self.half_solve(np.eye(len(self.u)))
        return V.T @ V

    def inverse_diagonal(self) -> FloatArray:
        """Diagonal of A⁻¹ (k,)."""
        if not len(self.u):
            return self.u
        V, _ = lapack.dtrtri(self.L, lower=1)
        out: FloatArray = np.einsum("ij,ij->j", V, V)
        return out


class Flips(NamedTuple):
    """Changes of the log-determinant and the explained part by each flip; for exchanges, a row for each member."""

    log_det: FloatArray  # (M,) log d_m
    explained: FloatArray  # (M,) e_m²/d_m


def factorise(A: FloatArray, r: FloatArray, prior: FloatArray | float = 0.0) -> Factor:
    """Factor A (k, k) plus diag(prior), which must be positive definite; A is overwritten."""
    if not len(r):
        return Factor(A, r)
    A.flat[:: len(A) + 1] += prior
    L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError("information matrix not positive definite: raise the slab precision")
    return Factor(L, blas.dtrsv(L, r, lower=1))


def complements(
    factor: Factor, cross: FloatArray, diagonal: FloatArray, r: FloatArray, c: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """L⁻¹ cross (k, M), and d and e (M,) of all M columns as if none were in the set.

    cross (k, M): the set's columns against all, overwritten; diagonal (M,) without the prior; r (M,).
    """
    V = factor.half_solve(cross)
    d = np.maximum(diagonal - np.einsum("ij,ij->j", V, V), 0.0) + c  # ≥ c except for rounding
    return V, d, r - factor.u @ V


def additions(factor: Factor, cross: FloatArray, diagonal: FloatArray, r: FloatArray, c: float) -> Flips:
    """Flips of all M columns as if none were in the set; the arguments are those of `complements`."""
    _, d, e = complements(factor, cross, diagonal, r, c)
    return Flips(np.log(d), e * e / d)


def exchanges(factor: Factor, cross: FloatArray, diagonal: FloatArray, r: FloatArray, c: float) -> Flips:
    """Changes (k, M) when member j is exchanged for column m, not a member, from one factor.

    With W = A⁻¹ cross and p = diag A⁻¹, removing j adds W_jm²/p_j to d_m and W_jm μ_j/p_j to e_m. The arguments are
    those of `complements`. O(k²M); the additions to each of k sets S∖j would take k times as long.
    """
    V, d, e = complements(factor, cross, diagonal, r, c)
    W: FloatArray = blas.dtrsm(1.0, factor.L, V, lower=1, trans_a=1)
    p, mu = factor.inverse_diagonal()[:, None], factor.mean()[:, None]
    d = d + W * W / p
    e = e + W * mu / p
    return Flips(np.log(p) + np.log(d), e * e / d - mu * mu / p)


def removals(factor: Factor, members: slice) -> Flips:
    """Flips of the set's own columns, which are rows `members` of the factor."""
    p = factor.inverse_diagonal()[members]
    mu = factor.mean()[members]
    return Flips(-np.log(p), mu * mu / p)
