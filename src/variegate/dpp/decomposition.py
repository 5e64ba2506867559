"""Cholesky factor and eigenvectors of a balanced kernel, for normaliser, marginals and draws."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import logit

from ..types import FloatArray, IntArray
from .balance import MODERATE, BalancedFactor
from .sampling import EigenvectorStore
from .span import Rows, log_row_norms

# Eigenvectors with μ above this are in every draw; rounding decides how eigh rotates them among each other.
CERTAIN = 1.0 - 1e-10
# Logs of eigenvalues need peeled rows if diagonal entries of L differ by more than this: seven digits are left.
SPREAD = 20.0
LIFTED = MODERATE + 30.0  # rows with this log L_ii, or e^{-30} of it outside the span of others, are peeled


class Spectrum(NamedTuple):
    """Eigenvalues μ of the marginal kernel (d,), and the map from W to its eigenvectors V = W·transform."""

    mu: FloatArray
    transform: FloatArray


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Everything that depends on θ, computed on first use. O(Md² + d³)."""

    factor: BalancedFactor

    @cached_property
    def cholesky(self) -> FloatArray:
        """Lower factor C of G = diag(e^{-log_scale}) + WᵀW."""
        return np.linalg.cholesky(self.factor.gram + np.diag(np.exp(-self.factor.log_scale)))

    @cached_property
    def log_normalizer(self) -> float:
        """log det(I + L) = log det(G) + Σ log_scale."""
        return float(2 * np.log(np.diag(self.cholesky)).sum() + self.factor.log_scale.sum())

    @cached_property
    def _inverse(self) -> FloatArray:
        return np.asarray(linalg.solve_triangular(self.cholesky, np.eye(len(self.cholesky)), lower=True))

    def marginal_rows(self, rows: slice | IntArray) -> FloatArray:
        """Rows of F with K = FFᵀ, F = W C^{-T}."""
        return np.asarray(self.factor.rows(rows) @ self._inverse.T)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Eigenvalues and eigenvectors of K, from WᵀW if nothing was peeled, else from FᵀF."""
        gram = self.factor.gram
        if not self.factor.log_scale.any():
            values, transform = np.linalg.eigh(gram)
            squares = np.maximum(values, 0.0)
            mu = squares / (1.0 + squares)
        else:
            squares, vectors = np.linalg.eigh(self._inverse @ gram @ self._inverse.T)
            mu = squares = np.clip(squares, 0.0, 1.0)
            vectors[:, mu > CERTAIN] = settled_basis(vectors[:, mu > CERTAIN])
            transform = self._inverse.T @ vectors
        # zero eigenvalues come out of this order
        real = squares > 4 * np.finfo(float).eps * max(len(mu), 1) * squares.max(initial=0.0)
        return Spectrum(np.where(real, mu, 0.0), transform / np.sqrt(np.where(real, squares, np.inf)))

    @cached_property
    def log_odds(self) -> FloatArray:
        """log μ/(1 − μ) of the non-zero μ: the logs of the eigenvalues of L. O(d³), several times if rows were peeled.

        K is e^{-log_scale} short of a projection: 1 − μ are the squared singular values of C⁻¹diag(e^{-log_scale/2}),
        which the one-sided Jacobi method finds with small relative errors (Demmel & Veselić 1992).
        """
        mu = self.spectrum.mu
        if not self.factor.log_scale.any():
            return np.asarray(logit(mu[mu > 0]))
        short = self._inverse * np.exp(-self.factor.log_scale / 2)
        values, *_, work, _, failed = linalg.lapack.dgejsv(short, joba=0, jobu=3, jobv=3, jobr=0)
        if failed:
            raise np.linalg.LinAlgError("The Jacobi method did not converge.")
        with np.errstate(divide="ignore"):  # eigenvalues from e^1400 are infinite
            # singular values come in decreasing order, mu in increasing order
            return np.asarray(np.log(mu[mu > 0]) - 2 * np.log(values * (work[0] / work[1]))[mu > 0])

    @cached_property
    def store(self) -> EigenvectorStore:
        """The eigenvectors, computed as draws need them."""
        return EigenvectorStore(len(self.factor.theta), self.spectrum.transform, self.factor.rows)


def settled_basis(vectors: FloatArray) -> FloatArray:
    """The basis of a span (d, s) that is closest to s coordinate axes: a continuous function of the span.

    eigh rotates eigenvectors of equal eigenvalues arbitrarily, depending on rounding. Draws would keep their
    distribution, but the same seed would give other sets if the last digit of the data changed.
    """
    if vectors.shape[1] < 2:
        return vectors
    *_, axes = linalg.qr(vectors.T, mode="economic", pivoting=True)
    turn, _ = linalg.polar(vectors[np.sort(axes[: vectors.shape[1]])].T)
    return np.asarray(vectors @ turn)


def decompose(rows: Rows, theta: FloatArray) -> Decomposition:
    """Decompose L = DΦΦᵀD; if d > M, from the M×M triangle with the same inner products."""
    M, d = rows.phi.shape
    if d <= M or M == 0:
        return Decomposition(BalancedFactor(rows, theta))
    # unit rows, so that tiny and huge numbers are not added
    triangle = linalg.qr(rows.units(slice(None)).T, mode="r")[0][:M].T
    norms = np.where(np.isfinite(rows.log_norms), rows.log_norms, 0.0)
    units = Rows(triangle, log_row_norms(triangle), rows.log_floor - norms)
    return Decomposition(BalancedFactor(units, theta + 2 * norms))


def lift_for_eigenvalues(rows: Rows, theta: FloatArray) -> float:
    """A constant for θ such that `log_odds` has correct digits for every eigenvalue.

    Small eigenvalues drown in the rounding errors of large ones unless their rows are peeled too. Zero if the diagonal
    entries of L are near each other.
    """
    log_diagonal = (theta + 2 * rows.log_norms)[rows.log_norms > -np.inf]
    low, high = log_diagonal.min(initial=np.inf), log_diagonal.max(initial=-np.inf)
    return float(max(LIFTED - low, 0.0)) if high - low > SPREAD else 0.0
