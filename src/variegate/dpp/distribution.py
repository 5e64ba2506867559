"""Protocols of distributions over sets."""

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ..types import FloatArray, IntArray


class SetLaw(Protocol):
    """Methods common to distributions with free and with fixed size.

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
        """log Σ_S e^{θ(S)} ν(S) over all sets, or all sets of the fixed size."""

    @property
    def expected_size(self) -> float:
        """E|S|."""

    def log_prob(self, S: npt.ArrayLike) -> float:
        """log q(S)."""

    def inclusion_prob(self) -> FloatArray:
        """P(m ∈ S), shape (M,)."""

    def sample(self, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets, each a sorted array of positions."""

    def condition(self, include: npt.ArrayLike = (), exclude: npt.ArrayLike = ()) -> Self:
        """The distribution of the other items given that S contains `include` and avoids `exclude`."""

    def map(self, size: int | None = None) -> IntArray:
        """The most probable set found, of size `size` if given."""


class SetDistribution(SetLaw, Protocol):
    """A member of the family q_θ(S) ∝ e^{θ(S)} ν(S): `LowRankDPP` or `IndependentSets`.

    >>> from variegate.dpp import IndependentSets
    >>> q: SetDistribution = IndependentSets([0.0, 0.0])
    >>> q.expected_size
    1.0
    """

    @property
    def rank(self) -> int:
        """Size of the largest set with positive probability."""

    def marginal_kernel(self, rows: npt.ArrayLike, cols: npt.ArrayLike | None = None) -> FloatArray:
        """K[rows, cols], where P(A ⊆ S) = det(K_A)."""

    def sample_fixed_size(self, k: int, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets given |S| = k."""

    def inclusion_prob_fixed_size(self, k: int) -> FloatArray:
        """P(m ∈ S | |S| = k), shape (M,)."""

    def log_normalizer_fixed_size(self, k: int) -> float:
        """log Σ_{|S|=k} e^{θ(S)} ν(S)."""

    def with_theta(self, theta: FloatArray) -> Self:
        """The same distribution with log-qualities `theta` (M,)."""

    def shifted(self, shift: float) -> Self:
        """The same distribution with θ + shift."""

    def rescaled(self, expected_size: float) -> Self:
        """The same distribution with a constant added to θ that gives this expected size."""
