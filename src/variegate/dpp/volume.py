"""The volume ν(S) = det([ΦΦᵀ]_S), and its change when an item is added, removed or exchanged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..gram import GramRows
from ..sets import row_blocks, underflow_is_zero
from ..types import AnyFloatArray, FloatArray, IntArray
from .span import CANCELLED, Rows


class VolumeGains(NamedTuple):
    """log ν(S), and log ν(S ∪ m) − log ν(S∖m) for every m (M,)."""

    log_volume: float
    gains: FloatArray


@dataclass(frozen=True, eq=False)
class Volume:
    """log ν(S) and its flip gains, ν(S) = det([ΦΦᵀ + ε diag(ΦΦᵀ)]_S) with nugget ε.

    The gain of m is the log of its Schur complement s_m: the squared residual of φ_m after projection onto the span of
    the other rows. Cosines of items that have been in a set are cached, in at most half the bytes of Φ, or 8 MB.
    """

    rows: Rows
    nugget: float = 0.0
    _cosines: GramRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # of the rows, not of self: a reference cycle would keep Φ until the cyclic collector runs
        cosines = GramRows(partial(_cosines, self.rows), len(self.phi), max(self.phi.nbytes // 2, 1 << 23))
        object.__setattr__(self, "_cosines", cosines)

    @property
    def phi(self) -> AnyFloatArray:
        """Φ (M, d)."""
        return self.rows.phi

    @property
    def log_norms(self) -> FloatArray:
        """log ‖φ_m‖ (M,)."""
        return self.rows.log_norms

    @underflow_is_zero
    def prefetch(self, sets: Sequence[IntArray]) -> None:
        """Compute the cosines that these sets need in one product."""
        if len(sets):
            self._cosines.prefetch(np.unique(np.concatenate(sets)).astype(np.int64))

    @underflow_is_zero
    def log_volume(self, S: IntArray) -> float:
        """log ν(S); −inf for dependent rows."""
        if len(S) == 0:
            return 0.0
        units = self.rows.units(S)
        C = self._factor(S, units @ units.T)
        return -np.inf if C is None else self._log_volume(S, C)

    def independent(self, items: IntArray, most: int) -> IntArray:
        """The first items, at most `most`, without those in the span of earlier ones, sorted."""
        kept: list[int] = []
        for m in items:
            if len(kept) == most:
                break
            if self.log_volume(np.array([*kept, m])) > -np.inf:
                kept.append(int(m))
        return np.sort(np.array(kept, dtype=np.int64))

    @underflow_is_zero
    def flip_gains(self, S: IntArray) -> VolumeGains:
        """log ν(S) and log s_m for every item, −inf inside the span; S must be independent. O(M|S|²)."""
        if len(S) == 0:
            return VolumeGains(0.0, 2 * self.log_norms + np.log1p(self.nugget))
        cosines = self._cosines.rows(S)
        C = self._factor(S, cosines[:, S])
        if C is None:
            raise ValueError(f"The rows of phi for the set {S.tolist()} are linearly dependent.")
        # column-major, so that nothing is transposed in memory
        V = linalg.blas.dtrsm(1.0, C, cosines.T, side=1, lower=1, trans_a=1, overwrite_b=1)
        outside = 1.0 + self.nugget - np.einsum("mk,mk->m", V, V)
        inverse, _ = linalg.lapack.dtrtri(C, lower=1)
        outside[S] = 1.0 / np.einsum("kj,kj->j", inverse, inverse)
        if outside.min() < CANCELLED:
            doubtful = np.setdiff1d(np.flatnonzero(outside < CANCELLED), S)
            outside[doubtful] = self._outside(doubtful, S)
        with np.errstate(divide="ignore"):
            return VolumeGains(self._log_volume(S, C), np.log(outside) + 2 * self.log_norms)

    @underflow_is_zero
    def exchange_gains(self, S: IntArray) -> FloatArray:
        """log ν(S∖j ∪ m) − log ν(S) for each member j and every m outside (|S|, M); S must be independent. O(M|S|²).

        Near the span of S∖j only a few digits are correct, enough to choose which exchanges to try.
        """
        cosines = self._cosines.rows(S)
        C = self._factor(S, cosines[:, S])
        if C is None:
            raise ValueError(f"The rows of phi for the set {S.tolist()} are linearly dependent.")
        V = linalg.solve_triangular(C, cosines, lower=True)
        W = linalg.solve_triangular(C, V, lower=True, trans=1)
        inverse, _ = linalg.lapack.dtrtri(C, lower=1)
        p = np.einsum("kj,kj->j", inverse, inverse)[:, None]
        outside = np.maximum(1.0 + self.nugget - np.einsum("km,km->m", V, V), 0.0) + W * W / p
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p * outside) + 2 * (self.log_norms - self.log_norms[S][:, None]))

    @underflow_is_zero
    def units(self, items: IntArray) -> FloatArray:
        """Rows of Φ at unit length (n, d)."""
        if self._of_unit_length:
            return np.asarray(self.phi[items], dtype=np.float64)
        return np.ascontiguousarray(self.rows.units(items), dtype=np.float64)

    @cached_property
    def _of_unit_length(self) -> bool:
        return bool(np.abs(self.log_norms).max(initial=0.0) < 1e-14)

    def _log_volume(self, S: IntArray, C: FloatArray) -> float:
        return float(2 * self.log_norms[S].sum() + 2 * np.log(np.diag(C)).sum())

    def _factor(self, S: IntArray, cosines: FloatArray) -> FloatArray | None:
        """Lower triangle C with CCᵀ = cosines + nugget; None for dependent rows."""
        if self.nugget:
            return np.asarray(np.linalg.cholesky(cosines + self.nugget * np.eye(len(S))), dtype=np.float64)
        C, failed = linalg.lapack.dpotrf(cosines, lower=1, clean=1)
        if not failed and C.diagonal().min() ** 2 > CANCELLED:
            return np.asarray(C)
        if self.rows.log_volume(S) == -np.inf:
            return None
        R = linalg.qr(self.rows.units(S).T, mode="r")[0][: len(S)]
        return np.asarray(R.T * np.sign(np.diag(R)))

    def _outside(self, items: IntArray, S: IntArray) -> FloatArray:
        """Squared residuals after projection onto the span of S, without cancellation."""
        span, _ = self.rows.span(S)
        return np.square(span.outside(self.rows.units(items), self.rows.tolerance(items)).length)


def _cosines(rows: Rows, items: IntArray) -> FloatArray:
    """Cosines of some items with all items (n, M)."""
    units = rows.units(items)
    found = np.empty((len(items), len(rows.phi)))
    for block in row_blocks(*rows.phi.shape):
        found[:, block] = units @ rows.units(block).T
    return found
