"""What the best rule on a set leaves of a reference's predictions, as a quadratic form in the columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..design import Design
from ..gram import GramRows
from ..likelihoods import Auxiliary
from ..types import FloatArray, IntArray

ROW_BYTES = 1 << 28  # cache of Gram rows: 16,000 rows of 2,000 columns
BLOCK = 1024  # columns whose coupled curvature is computed together
FLAT = 1e-10  # directions of the fixed part with a smaller share of the largest eigenvalue are dependent


class Units(NamedTuple):
    """The columns of each feature (U, W), padded with −1; W = 1 unless columns are measured together.

    >>> Units.of(np.array([0, 1, 1])).columns
    array([[ 0, -1],
           [ 1,  2]])
    """

    columns: IntArray

    @property
    def _single(self) -> bool:  # each feature is one column, and they are in the same order
        return bool(self.columns.shape[1] == 1)

    @classmethod
    def of(cls, unit: IntArray) -> "Units":
        """From the feature (M,) of each column."""
        counts = np.bincount(unit)
        found = np.full((len(counts), int(counts.max(initial=1))), -1, dtype=np.int64)
        order = np.argsort(unit, kind="stable")
        first = np.repeat(np.cumsum(counts) - counts, counts)
        found[unit[order], np.arange(len(unit)) - first] = order
        return cls(found)

    def columns_of(self, S: IntArray) -> IntArray:
        """The columns of some features, feature by feature."""
        if self._single:
            return S
        found = self.columns[S].ravel()
        return np.asarray(found[found >= 0])

    def gathered(self, values: FloatArray) -> FloatArray:
        """Values of the columns (…, M) by feature (…, U, W), zero where a feature has fewer than W columns."""
        if self._single:
            return values[..., None]
        return np.asarray(np.where(self.columns >= 0, values[..., self.columns], 0.0))


@dataclass(frozen=True, eq=False)
class Remainder:
    """left_k(S) = min over B, D of |η_k − X̃_S B − F D|²_H + ρ|B|², for K targets η at once.

    H is the curvature of the expected loss; F (p, N) is what every rule has: the intercept
    and the columns that are always measured. With H' = H − HFᵀ(FHFᵀ)⁻¹FH, which projects F out, G = X̃H'X̃ᵀ and
    b = X̃H'ηᵀ give left_k(S) = η_kᵀH'η_k − b_Sᵀ(G_SS + ρI)⁻¹b_S.
    """

    design: Design
    curvature: Auxiliary
    targets: FloatArray  # η (K, N)
    fixed: FloatArray
    units: Units
    _rows: GramRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # of the parts, not of self: a reference cycle would keep X until the cyclic collector runs
        compute = partial(_gram_rows, self.design, self.curvature, self._projection)
        object.__setattr__(self, "_rows", GramRows(compute, self.design.shape[1], ROW_BYTES))

    @property
    def weight(self) -> float:
        """Σ w, the number of rows that the curvature is worth."""
        return float(self.curvature.precision.sum())

    @cached_property
    def _projection(self) -> FloatArray:
        """P (p, N) with H' = H − PᵀP."""
        values, vectors = np.linalg.eigh(self.curvature.inner(self.fixed))
        some = values > FLAT * max(float(values[-1]), 1e-300)
        return np.asarray((vectors[:, some] / np.sqrt(values[some])).T @ self.curvature.times(self.fixed))

    def times(self, Z: FloatArray) -> FloatArray:
        """Z H' (k, N) of rows Z (k, N)."""
        return _times(self.curvature, self._projection, Z)

    @cached_property
    def total(self) -> FloatArray:
        """What is left without any column (K,): η_kᵀH'η_k."""
        return np.asarray(np.maximum(np.einsum("kn,kn->k", self.targets, self.times(self.targets)), 0.0))

    @cached_property
    def information(self) -> FloatArray:
        """Transposed b (K, M)."""
        return self.design.cross(self.times(self.targets))

    @cached_property
    def own(self) -> FloatArray:
        """G between the columns of each feature (U, W, W), ones on the diagonal where there is no column. O(NM)."""
        U, W = self.units.columns.shape
        if W == 1:
            return self.diagonal[self.units.columns[:, :, None]]
        found = np.zeros((U, W, W))
        for start in range(0, U, BLOCK):
            columns = self.units.columns[start : start + BLOCK]
            Z = self.design.column_rows(np.maximum(columns.ravel(), 0)) * (columns.ravel() >= 0)[:, None]
            shape = (*columns.shape, -1)
            found[start : start + BLOCK] = np.einsum("uwn,uvn->uwv", self.times(Z).reshape(shape), Z.reshape(shape))
        return found + np.eye(W) * (self.units.columns < 0)[:, :, None]

    @cached_property
    def diagonal(self) -> FloatArray:
        """Diagonal of G (M,). O(NM)."""
        cross, squares = self.design.cross_and_squares(self._projection, self.curvature.precision[None])
        found = squares[0] - np.square(cross).sum(axis=0)
        if self.curvature.shared is not None:
            for start in range(0, len(found), BLOCK):
                some = np.arange(start, min(start + BLOCK, len(found)))
                found[some] -= np.square(self.curvature.factor(self.design.column_rows(some))).sum(axis=0)
        return np.asarray(np.maximum(found, 0.0))

    def left(self, S: IntArray, ridge: float, other: "Remainder | None" = None) -> FloatArray:
        """What the best rule on S leaves of the targets, or of those of another remainder with these columns (K,)."""
        C, of = self.units.columns_of(S), self if other is None else other
        b = of.information[:, C]
        return np.asarray(np.maximum(of.total - np.einsum("kc,kc->k", b @ self._inverse(C, ridge), b), 0.0))

    def _inverse(self, C: IntArray, ridge: float) -> FloatArray:
        """(G_CC + ρI)⁻¹."""
        self._rows.prefetch(C)
        block = self._rows.block(C)
        return _inverse((self.rows(C)[:, C] if block is None else block) + ridge * np.eye(len(C)))

    def rows(self, C: IntArray) -> FloatArray:
        """Rows of G for some columns (c, M)."""
        return self._rows.rows(C)

    def best(self, S: IntArray, ridge: float) -> "Best":
        """The best rule on the features S. O(|S|³), and O(NM) for each new row of G."""
        C = self.units.columns_of(S)
        inverse = self._inverse(C, ridge)
        beta = inverse @ self.information[:, C].T
        left = self.total - np.einsum("kc,ck->k", self.information[:, C], beta)
        ends = np.cumsum((self.units.columns[S] >= 0).sum(axis=1))
        places = [np.arange(*span) for span in zip(np.append(0, ends[:-1]), ends, strict=True)] if len(S) else []
        return Best(self, ridge, S, places, inverse, beta, np.maximum(left, 0.0))


def _times(curvature: Auxiliary, projection: FloatArray, Z: FloatArray) -> FloatArray:
    return np.asarray(curvature.times(Z) - (Z @ projection.T) @ projection)


def _gram_rows(design: Design, curvature: Auxiliary, projection: FloatArray, C: IntArray) -> FloatArray:
    return design.cross(_times(curvature, projection, design.column_rows(C)))


@dataclass(frozen=True, eq=False)
class Best:
    """The best rule on the features S, and what it takes to change it; C are the columns of S."""

    remainder: Remainder
    ridge: float
    S: IntArray
    places: list[IntArray]  # the columns of each member, as positions in C
    inverse: FloatArray  # (C, C) (G_CC + ρI)⁻¹
    beta: FloatArray  # (C, K)
    left: FloatArray  # (K,)

    @cached_property
    def _outside(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For other columns, by feature. O(|S|²M + |S|MK).

        share (C, U, W) = (G_CC + ρI)⁻¹G_C, rest (K, U, W) = b − G_Cᵀβ, schur (U, W, W) = G_mm + ρI − G_mC share_m.
        """
        remainder, gathered = self.remainder, self.remainder.units.gathered
        rows = remainder.rows(remainder.units.columns_of(self.S))
        share = self.inverse @ rows
        if remainder.own.shape[1] == 1:
            inside = np.einsum("cu,cu->u", gathered(rows)[:, :, 0], gathered(share)[:, :, 0])[:, None, None]
        else:
            inside = np.einsum("cuw,cuv->uwv", gathered(rows), gathered(share))
        schur = remainder.own + self.ridge * np.eye(remainder.own.shape[1]) - inside
        return gathered(share), gathered(remainder.information - self.beta.T @ rows), schur

    def with_each(self) -> FloatArray:
        """What is left after each feature is added (U, K)."""
        _, rest, schur = self._outside
        return self.left - _explained(rest, schur)

    def without_each(self) -> FloatArray:
        """What is left after each member is removed (|S|, K)."""
        found = [self.left + self._lost(j) for j in range(len(self.S))]
        return np.array(found).reshape(len(self.S), len(self.left))

    def exchanged(self) -> Iterator[FloatArray]:
        """For each member, what is left after each feature takes its place (U, K)."""
        share, rest, schur = self._outside
        for j, J in enumerate(self.places):
            solved = np.linalg.inv(self.inverse[np.ix_(J, J)])
            here = share[J]
            if here.shape[2] == len(J) == 1:
                r = rest[:, :, 0] + np.outer(self.beta[J[0]] * solved[0, 0], here[0, :, 0])
                d = schur[:, 0, 0] + solved[0, 0] * np.square(here[0, :, 0])
                explained = (np.square(r, out=r) / np.maximum(d, 1e-300)).T
            else:
                r = rest + np.einsum("jk,jl,luw->kuw", self.beta[J], solved, here)
                explained = _explained(r, schur + np.einsum("juw,jl,luv->uwv", here, solved, here))
            yield self.left + self._lost(j) - explained

    def _lost(self, j: int) -> FloatArray:
        J = self.places[j]
        beta = self.beta[J]
        return np.asarray(np.einsum("jk,jk->k", beta, np.linalg.solve(self.inverse[np.ix_(J, J)], beta)))


def _explained(rest: FloatArray, schur: FloatArray) -> FloatArray:
    """restᵀ schur⁻¹ rest of each feature (U, K)."""
    if schur.shape[1] == 1:
        return np.asarray((np.square(rest[:, :, 0]) / np.maximum(schur[:, 0, 0], 1e-300)).T)
    solved = np.linalg.solve(schur, rest.transpose(1, 2, 0))
    return np.asarray(np.einsum("kuw,uwk->uk", rest, solved))


def _inverse(A: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix; the pseudoinverse if it is singular."""
    if not len(A):
        return A
    factor, failed = linalg.lapack.dpotrf(A, lower=1)
    if failed:
        return np.asarray(np.linalg.pinv(A, hermitian=True))
    inverse, _ = linalg.lapack.dpotri(factor, lower=1)
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)
