"""Regression data with the intercept and the covariates projected out, without a second copy of X."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..checks import WrongOutcome
from ..design import Design
from ..types import FloatArray, IntArray
from .form import Factor

ROUNDING = 1e-13  # a residual below this fraction of y is rounding error; least squares leave about 1e-15


@dataclass(frozen=True)
class Projected:
    """The data with intercept and covariates projected out, all through products with X itself.

    Q (N, p−1) is orthonormal under the weights and to the intercept: QᵀWQ = I, QᵀW1 = 0.
    """

    design: Design
    weights: FloatArray
    covariates: Design
    to_basis: FloatArray  # (p_all, p−1): standardised covariates times this are Q
    Q: FloatArray
    loadings: FloatArray  # (p−1, M) QᵀWX̃
    y_loadings: FloatArray  # (p−1,) QᵀWy
    y_mean: float
    residual: FloatArray  # (N,) ỹ
    information: FloatArray  # (M,) X̃ᵀWỹ
    diagonal: FloatArray  # (M,) of X̃ᵀWX̃
    total: float  # ỹᵀWỹ
    n: float
    log_det_fixed: float

    @classmethod
    def of(cls, design: Design, y: FloatArray, C: FloatArray, weights: FloatArray) -> "Projected":
        """Project y and the columns."""
        covariates = covariate_design(C, weights)
        Q, to_basis, log_det = _basis(covariates, weights)
        n = float(weights.sum())
        if n < 1 + Q.shape[1]:
            raise ValueError(
                f"sample_weight counts rows: its sum must be at least {1 + Q.shape[1]}, the number of "
                f"columns that are always in the model, got {n:g}; multiply the weights by a number."
            )
        y_mean = float(weights @ y / n)
        y_loadings = Q.T @ (weights * (y - y_mean))
        residual = y - y_mean - Q @ y_loadings
        residual, total = _without_rounding(residual, float(np.abs(y).max()), weights)
        loadings = design.cross((weights[:, None] * Q).T)
        return cls(
            design, weights, covariates, to_basis, Q, loadings, y_loadings, y_mean,
            residual=residual,
            information=design.cross((weights * residual)[None, :])[0],
            diagonal=np.maximum(n * design.varying - np.square(loadings).sum(axis=0), 0.0),
            total=total,
            n=n, log_det_fixed=log_det,
        )  # fmt: skip

    @property
    def dof(self) -> float:
        """Observations left after the fixed columns, n − p."""
        return self.n - 1.0 - float(self.Q.shape[1])

    @property
    def variance(self) -> float:
        """Variance of y given the covariates; 1 if it is zero, since any positive number would do."""
        return self.total / self.n if self.total > 0 else 1.0

    @property
    def log_constant(self) -> float:
        """The part of the log evidence that all sets share."""
        return -0.5 * self.dof * float(np.log(2.0 * np.pi)) - 0.5 * self.log_det_fixed

    def gram_rows(self, S: IntArray) -> FloatArray:
        """X̃_SᵀWX̃ (|S|, M)."""
        A = np.ascontiguousarray((self.weights[:, None] * self.design.columns(S)).T)
        return self.design.cross(A) - self.loadings[:, S].T @ self.loadings

    def gram_block(self, S: IntArray) -> FloatArray:
        """X̃_SᵀWX̃_S without the other columns."""
        Z = self.design.columns(S) - self.Q @ self.loadings[:, S]
        out: FloatArray = Z.T @ (self.weights[:, None] * Z)
        return out

    def fixed_rows(self, C_new: FloatArray) -> FloatArray:
        """Rows of Q for new covariates (n, p_all)."""
        p = self.covariates.shape[1]
        return self.covariates.standardised(C_new, np.arange(p)) @ self.to_basis

    def fixed_coefficients(self, S: IntArray, mean: FloatArray) -> FloatArray:
        """Posterior means of the covariates' coefficients, in their units (p_all,)."""
        delta = self.y_loadings - self.loadings[:, S] @ mean
        out: FloatArray = self.covariates.inverse_scale * (self.to_basis @ delta)
        return out

    def joint_covariance(self, S: IntArray, factor: Factor) -> FloatArray:
        """Covariance of the coefficients of S, of the level at the means, and of the covariates' (s + 1 + p_all).

        Over the variance of the noise, in the units of the columns. In the basis, the covariates' coefficients given
        those of S have covariance I and mean Qᵀy − L_Sβ.
        """
        inverse, T = factor.inverse(), self.covariates.inverse_scale[:, None] * self.to_basis
        A = np.vstack([np.diag(self.design.inverse_scale[S]), np.zeros((1, len(S))), -T @ self.loadings[:, S]])
        found: FloatArray = A @ inverse @ A.T
        found[len(S), len(S)] = 1.0 / self.n
        found[len(S) + 1 :, len(S) + 1 :] += T @ T.T
        return found


def _without_rounding(residual: FloatArray, largest: float, weights: FloatArray) -> tuple[FloatArray, float]:
    """The part of y to be explained, or zeros if that is rounding error of y, and its sum of squares."""
    if largest == 0:
        return np.zeros_like(residual), 0.0
    share = residual / largest  # its squares neither over- nor underflow
    if share @ (weights * share) <= weights.sum() * ROUNDING**2:
        return np.zeros_like(residual), 0.0
    with np.errstate(over="ignore"):
        total = float(residual @ (weights * residual))
    if not np.finfo(float).tiny < total < np.inf:
        many = f"must have squares that a float can hold, got values of about {largest:.0e}; divide it by a number"
        raise WrongOutcome("y", many)
    return residual, total


def covariate_design(C: FloatArray, weights: FloatArray) -> Design:
    """Covariates (N, p) as a design, also for p = 0."""
    if C.shape[1]:
        return Design.of(C, weights)
    return Design(C, np.empty(0), np.empty(0))


def _basis(covariates: Design, weights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Orthonormal basis of the covariates, the matrix that maps them to it, and log|CᵀWC| with the intercept."""
    p = covariates.shape[1]
    log_n = float(np.log(weights.sum()))
    if p == 0:
        return np.empty((len(weights), 0)), np.empty((0, 0)), log_n
    Z = covariates.columns(np.arange(p))
    _, R, pivots = linalg.qr(np.sqrt(weights)[:, None] * Z, mode="economic", pivoting=True)
    size = np.abs(R.diagonal())
    rank = int((size > 1e-10 * np.sqrt(weights.sum())).sum())
    kept = pivots[:rank]
    to_basis = np.zeros((p, rank))
    to_basis[kept] = linalg.solve_triangular(R[:rank, :rank], np.eye(rank))
    log_det = 2.0 * float(np.log(size[:rank]).sum() - np.log(covariates.inverse_scale[kept]).sum())
    return Z @ to_basis, to_basis, log_n + log_det
