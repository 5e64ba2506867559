"""What a distribution over sets can do."""

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ..types import FloatArray, IntArray


class SetLaw(Protocol):
    """What can be asked of sets of any size and of a fixed one alike.

    >>> from variegate.dpp import FixedSize, IndependentSets
    >>> pairs: SetLaw = FixedSize(IndependentSets([0.0, 0.0, 0.0]), 2)
    >>> pairs.expected_size
    2.0
    """

    @property
    def theta(self) -> FloatArray:
        """Log-qualities (M,)."""

    @property
    def items(self) -> npt.NDArray[Any]:
        """Labels (M,)."""

    @property
    def n_items(self) -> int:
        """M."""

    @property
    def log_normalizer(self) -> float:
        """Log Σ_S e^{θ(S)} ν(S) over the sets in question."""

    @property
    def expected_size(self) -> float:
        """E|S|."""

    def log_prob(self, S: npt.ArrayLike) -> float:
        """Log q(S)."""

    def inclusion_prob(self) -> FloatArray:
        """P(m ∈ S), shape (M,)."""

    def sample(self, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets, each a sorted array of positions."""

    def condition(self, include: npt.ArrayLike = (), exclude: npt.ArrayLike = ()) -> Self:
        """The law of the other items given that some are in and some are out."""

    def map(self, size: int | None = None) -> IntArray:
        """The most probable set found, of the given size if one is given."""


class SetDistribution(SetLaw, Protocol):
    """A member of the family q_θ(S) ∝ e^{θ(S)} ν(S): `LowRankDPP` or `IndependentSets`.

    >>> from variegate.dpp import IndependentSets
    >>> q: SetDistribution = IndependentSets([0.0, 0.0])
    >>> q.expected_size
    1.0
    """

    @property
    def log_eigenvalues(self) -> FloatArray:
        """Logs of the eigenvalues of L: adding t to θ multiplies them by e^t."""

    @property
    def rank(self) -> int:
        """Size of the largest set with positive probability."""

    def marginal_kernel(self, rows: npt.ArrayLike, cols: npt.ArrayLike | None = None) -> FloatArray:
        """K[rows, cols], where P(A ⊆ S) = det(K_A)."""

    def covariance_matvec(self, v: npt.ArrayLike) -> FloatArray:
        """Cov(γ)v, shape (M,)."""

    def sample_fixed_size(self, k: int, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets given |S| = k."""

    def inclusion_prob_fixed_size(self, k: int) -> FloatArray:
        """P(m ∈ S | |S| = k), shape (M,)."""

    def log_normalizer_fixed_size(self, k: int) -> float:
        """Log Σ_{|S|=k} e^{θ(S)} ν(S)."""

    def with_theta(self, theta: FloatArray) -> Self:
        """The same similarity with other log-qualities (M,)."""

    def shifted(self, shift: float) -> Self:
        """θ + constant."""

    def rescaled(self, expected_size: float) -> Self:
        """θ + constant, with that expected size."""
