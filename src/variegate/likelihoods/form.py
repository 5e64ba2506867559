"""The quadratic form of an outcome, and all that follows from one factor of a set: linear algebra of every evidence.

For a Gaussian (pseudo-)model, log p(y | S) depends on S only through log|A| and x = b_Sᵀ A⁻¹ b_S, where A = G_SS + cI,
G is the Gram matrix of the columns and b their information. Adding column m multiplies |A| by its Schur complement d_m
and adds e_m²/d_m to x; removing it is the same with d_m = 1/[A⁻¹]_mm, e_m = μ_m d_m, μ = A⁻¹b_S.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from ..compiled import numba
from ..types import FloatArray, IntArray
from .auxiliary import Auxiliary


def gain(x: Any, shape: float, rate: float, floor: float) -> Any:
    """Change of the log evidence, without determinants, if x more is explained: negative x if a column is removed.

    ½x if shape = 0: the variance of the noise is 1. If it is integrated out, −shape · log(1 − ½x/rate), where rate has
    what is explained already subtracted, and rounding must not take it below floor. The same function is compiled.

    >>> gain(2.0, 0.0, 0.0, 0.0), gain(2.0, 3.0, 2.0, 0.1).round(3)
    (1.0, np.float64(2.079))
    """
    if shape == 0.0:
        return 0.5 * x
    return -shape * np.log(np.maximum(1.0 - 0.5 * x / rate, floor / rate))


compiled_gain = numba.njit(cache=True, nogil=True, error_model="numpy")(gain)


class Noise(NamedTuple):
    """The noise of an outcome: known, or integrated out under an inverse-gamma law.

    >>> Noise(shape=3.0, rate=2.0).given(explained=1.0).rate
    1.5
    """

    shape: float = 0.0
    rate: float = 0.0
    floor: float = 0.0

    def given(self, explained: float) -> "Noise":
        """The noise once `explained` is."""
        return self._replace(rate=max(self.rate - 0.5 * explained, self.floor))


class Form(NamedTuple):
    """Evidence of one outcome as a function of the set, over C columns.

    With A = gram_SS + cI, q = log|A| − |S| log c and x = b_Sᵀ A⁻¹ b_S, up to a constant::

        log p(y | S) = −½q + gain(x, *noise)

    and gram = Z diag(precision) Zᵀ − fixedᵀ fixed, Z (C, N) the columns: its rows are computed when needed.

    >>> form = Form(np.ones(3), np.zeros((0, 2)), np.full(2, 3.0), np.ones(2))
    >>> form.noise.shape, form.rows(np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]), np.array([0]))
    (0.0, array([[3., 1.]]))
    """

    precision: FloatArray  # (N,)
    fixed: FloatArray  # (p, C) the part explained by columns that are always in the model
    diagonal: FloatArray  # (C,) of the Gram matrix
    information: FloatArray  # (C,) b
    noise: Noise = Noise()

    def rows(self, Z: FloatArray, columns: IntArray) -> FloatArray:
        """Rows of the Gram matrix (n, C)."""
        found: FloatArray = (Z[columns] * self.precision) @ Z.T - self.fixed[:, columns].T @ self.fixed
        return found

    def take(self, columns: IntArray | slice) -> "Form":
        """The form over some of the columns."""
        fixed = np.ascontiguousarray(self.fixed[:, columns])
        return self._replace(fixed=fixed, diagonal=self.diagonal[columns], information=self.information[columns])


class Factor(NamedTuple):
    """A = LLᵀ, and quantities that follow from it."""

    L: FloatArray  # (k, k) lower
    u: FloatArray  # (k,) L⁻¹b

    @property
    def log_det(self) -> float:
        """log|A|."""
        return 2.0 * float(np.log(self.L.diagonal()).sum())

    @property
    def explained(self) -> float:
        """bᵀA⁻¹b."""
        return float(self.u @ self.u)

    def mean(self) -> FloatArray:
        """μ = A⁻¹b, shape (k,)."""
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

    def solve_from(self, V: FloatArray) -> FloatArray:
        """Return A⁻¹B from V = L⁻¹B (k, n)."""
        out: FloatArray = blas.dtrsm(1.0, self.L, V, lower=1, trans_a=1) if V.size else V
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


def factorise(A: FloatArray, r: FloatArray, prior: FloatArray | float = 0.0) -> Factor:
    """Factor A (k, k) plus diag(prior), which must be positive definite; A is overwritten."""
    if not len(r):
        return Factor(A, r)
    A.flat[:: len(A) + 1] += prior
    L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError("information matrix not positive definite: raise the slab precision")
    return Factor(L, blas.dtrsv(L, r, lower=1))


class Neighbours(NamedTuple):
    """C columns given a set of k: column m would have the Schur complement d_m, and explain e_m²/d_m more.

    The factor has the k columns of the set first; columns that are always in the model may follow.
    """

    factor: Factor
    V: FloatArray  # (k + p, C) L⁻¹ times the Gram rows
    d: FloatArray  # (C,)
    e: FloatArray  # (C,)
    c: float  # slab precision
    noise: Noise  # given the set

    @classmethod
    def of(
        cls, factor: Factor, cross: FloatArray, diagonal: FloatArray, information: FloatArray, c: float, noise: Noise
    ) -> "Neighbours":
        """From the Gram rows `cross` (k + p, C) of the factor's columns, overwritten; the others are as in `Form`."""
        V = factor.half_solve(cross)
        d = np.maximum(diagonal - np.einsum("ij,ij->j", V, V), 0.0) + c  # ≥ c except for rounding
        return cls(factor, V, d, information - factor.u @ V, c, noise.given(factor.explained))

    def additions(self) -> FloatArray:
        """Gains (C,) of all columns, as if none were in the set."""
        return np.asarray(0.5 * np.log(self.c / self.d) + gain(np.square(self.e) / self.d, *self.noise))

    def removals(self, k: int) -> FloatArray:
        """Gains (k,) of the members."""
        p, mu = self.factor.inverse_diagonal()[:k], self.factor.mean()[:k]
        return np.asarray(0.5 * np.log(self.c * p) - gain(-np.square(mu) / p, *self.noise))

    def flip_gains(self, S: IntArray) -> FloatArray:
        """Gains (C,) of all columns, of which S (k,) are the members. O(kC)."""
        gains = self.additions()
        gains[S] = self.removals(len(S))
        return gains

    def exchange_gains(self, k: int) -> FloatArray:
        """Gains (k, C) of exchanging each of the k members for column m, which is not a member.

        With W = A⁻¹ cross and p = diag A⁻¹, removing j adds W_jm²/p_j to d_m and W_jm μ_j/p_j to e_m. O(k²C); the
        additions to each of k sets S∖j would take k times as long.
        """
        W = self.factor.solve_from(self.V)[:k]
        p, mu = self.factor.inverse_diagonal()[:k, None], self.factor.mean()[:k, None]
        d, e = self.d + W * W / p, self.e + W * mu / p
        return np.asarray(gain(e * e / d - mu * mu / p, *self.noise) - 0.5 * np.log(p * d))


class Solution(NamedTuple):
    """What a set gives: Gaussian terms that stand for the likelihood, and the posterior of the coefficients."""

    rows: FloatArray  # (k + p, N) the columns of the set, then those always in the model
    given: Auxiliary
    factor: Factor  # of the posterior precision of their coefficients
    log_evidence: float
    noise: Noise = Noise()

    def products(self) -> FloatArray:
        """Rows (k + p + 1, N) whose products with any column are its Gram rows with the set's, and its information."""
        return np.vstack([self.given.times(self.rows), self.given.information])
