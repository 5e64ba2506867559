"""Gaussian terms in place of a log-likelihood: exact given auxiliary variables, or an expansion."""

from typing import NamedTuple, Protocol

import numpy as np

from ..types import FloatArray


class Shared(Protocol):
    """The part of a curvature that couples rows: A = diag(precision) − Pᵀ P, P (p, N)."""

    def factor(self, Zt: FloatArray) -> FloatArray:
        """P Zᵀ (p, k) of rows Zt (k, N)."""
        ...

    def times(self, Zt: FloatArray) -> FloatArray:
        """Z Pᵀ P (k, N)."""
        ...

    def roughly(self, n: int) -> FloatArray:
        """Fewer vectors in place of P (at most n, N), which approximate PᵀP from below."""
        ...


class Dense(NamedTuple):
    """A shared part given by a few vectors.

    >>> Dense(np.array([[1.0, 2.0]])).factor(np.array([[3.0, 1.0]]))
    array([[5.]])
    """

    P: FloatArray  # (p, N)

    def factor(self, Zt: FloatArray) -> FloatArray:
        """P Zᵀ (p, k)."""
        return np.asarray(self.P @ Zt.T)

    def times(self, Zt: FloatArray) -> FloatArray:
        """Z Pᵀ P (k, N)."""
        return np.asarray((Zt @ self.P.T) @ self.P)

    def roughly(self, n: int) -> FloatArray:
        """P itself."""
        return self.P


class Auxiliary(NamedTuple):
    """The terms exp(bᵀη − ½ηᵀAη), A = diag(precision) minus the shared part, b the information; arrays (N,).

    >>> given = Auxiliary(np.array([1.0, 2.0]), np.zeros(2))
    >>> given.inner(np.array([[1.0, 1.0]]))
    array([[3.]])
    """

    precision: FloatArray
    information: FloatArray
    shared: Shared | None = None
    nuisance: float = np.nan  # a parameter drawn with them, such as the dispersion of counts

    def times(self, Zt: FloatArray) -> FloatArray:
        """Z A (k, N) of rows Zt (k, N)."""
        found = Zt * self.precision
        return found if self.shared is None else found - self.shared.times(Zt)

    def factor(self, Zt: FloatArray) -> FloatArray:
        """F (p, k) with Z A Zᵀ = Z diag(precision) Zᵀ − FᵀF."""
        return np.empty((0, len(Zt))) if self.shared is None else self.shared.factor(Zt)

    def inner(self, Zt: FloatArray) -> FloatArray:
        """Z A Zᵀ (k, k)."""
        F = self.factor(Zt)
        return np.asarray((Zt * self.precision) @ Zt.T - F.T @ F)
