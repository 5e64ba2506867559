"""The paper's toy example: six items, three of them alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from variegate.similarity import SimilarityFeatures


@dataclass(frozen=True)
class Toy:
    """The L-ensemble of the paper's figure 1.

    L : (6, 6) kernel; phi, theta : the same as similarity features (6, 5) with unit rows and log-qualities (6,),
    L = D ΦΦᵀ D with D = diag(e^{θ/2}); blocks : (6,) 0 for the three similar items, then 1, 2, 3

    >>> make_toy().phi.shape
    (6, 5)
    """

    L: npt.NDArray[np.float64]
    phi: SimilarityFeatures
    theta: npt.NDArray[np.float64]
    blocks: npt.NDArray[np.intp]

    @property
    def expected_counts(self) -> npt.NDArray[np.float64]:
        """Mean number of items drawn from each block, tr[L_b (I + L_b)⁻¹], shape (4,)."""
        K = self.L @ np.linalg.inv(np.eye(6) + self.L)
        return np.bincount(self.blocks, weights=np.diagonal(K)).astype(np.float64)


def make_toy(condition_number: float = 10.0, largest: float = 1.0) -> Toy:
    """Return six items: a block of three with rank two and eigenvalues λ₁ ≥ λ₂, and three separate items.

    L = [λ₁ u₁u₁ᵀ + λ₂ u₂u₂ᵀ] ⊕ λ₁ I₃, with λ₁ = `largest`, λ₂ = λ₁ / condition_number, and u₁ ∝ (1, 1, 1),
    u₂ ∝ (1, 0, −1). The three become collinear as λ₁/λ₂ → ∞, and the mean number drawn from their block,
    λ₁/(1+λ₁) + λ₂/(1+λ₂), tends to that of a single item.  Paper: figure 1 (which does not give its λ₁).

    >>> make_toy(1.0).expected_counts
    array([1. , 0.5, 0.5, 0.5])
    >>> make_toy(1e9).expected_counts.round(6)
    array([0.5, 0.5, 0.5, 0.5])
    """
    if not (condition_number >= 1 and largest > 0):
        raise ValueError(
            f"condition_number must be at least 1 and largest above 0, got {condition_number} and {largest}"
        )
    B = np.zeros((6, 5))
    B[:3, 0] = np.sqrt(largest / 3)
    B[[0, 2], 1] = np.sqrt(largest / condition_number / 2) * np.array([1.0, -1.0])
    B[[3, 4, 5], [2, 3, 4]] = np.sqrt(largest)
    norms = np.linalg.norm(B, axis=1)
    names = [f"item {i}" for i in range(1, 7)]
    return Toy(
        B @ B.T,
        SimilarityFeatures(B / norms[:, None], names),
        2 * np.log(norms),
        np.array([0, 0, 0, 1, 2, 3]),
    )
