"""The evidence of columns outside the likelihood's X, from their products with a few vectors."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from ..types import FloatArray, IntArray
from .flips import Factor, complements


class Probe(NamedTuple):
    """Vectors whose products with another column x̃ determine its evidence given a set S.

    With A the precision of the (pseudo-)observations, z the columns of S and those always in the model, a flip gain
    needs only x̃ᵀAz, x̃ᵀb and x̃ᵀAx̃ = Σ precision x̃² − Σ (shared x̃)².
    """

    rows: FloatArray  # (k + p + 1, N) A z of the set's columns, then of the fixed ones, then the information b
    shared: FloatArray  # (n, N) the shared part of A, approximately
    precision: FloatArray | None  # (N,); None if x̃ᵀAx̃ is the same for all columns
    total: float  # x̃ᵀAx̃ in that case
    factor: Factor  # of the precision of the coefficients, the set's columns first
    size: int  # k
    slab_precision: float
    shape: float = 0.0  # of the noise, if it is integrated out, as in `QuadraticForm`
    left: float = 0.0  # its rate, minus what S explains
    floor: float = 0.0

    def of(self, cross: FloatArray, shared: FloatArray, squares: FloatArray | None) -> "Neighbours":
        """The evidence of w columns given S, from their products (., w) with `rows`, `shared` and the precision."""
        products = np.ascontiguousarray(cross[:-1], dtype=np.float64)
        whole = np.full(cross.shape[1], self.total) if squares is None else squares - np.square(shared).sum(axis=0)
        V, d, e = complements(self.factor, products, whole, cross[-1], self.slab_precision)
        W = blas.dtrsm(1.0, self.factor.L, V, lower=1, trans_a=1) if len(V) else V
        return Neighbours(d, e, W[: self.size])

    def members(self, units: list[IntArray]) -> "Members":
        """What changes when each unit, given by positions among the columns of S, is removed."""
        inverse, mean = self.factor.inverse(), self.factor.mean()
        whiten, log_det, row = np.zeros((self.size, self.size)), np.zeros(len(units)), 0
        for g, unit in enumerate(units):
            C = np.linalg.cholesky(inverse[np.ix_(unit, unit)])
            whiten[row : row + len(unit), unit] = lapack.dtrtri(C, lower=1)[0]
            log_det[g], row = 2.0 * np.log(np.diag(C)).sum(), row + len(unit)
        return Members(whiten, whiten @ mean[: self.size], log_det)


class Neighbours(NamedTuple):
    """w columns given S: d (w,), e (w,) and W (k, w), as in `flips.exchanges`."""

    d: FloatArray
    e: FloatArray
    W: FloatArray


class Members(NamedTuple):
    """With P = CCᵀ the covariance of a unit's coefficients: C⁻¹, unit after unit (k, k), C⁻¹μ (k,), and log|P|."""

    whiten: FloatArray
    means: FloatArray
    log_det: FloatArray  # one for each unit
