"""A distribution over sets given that they have exactly k items."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..sets import as_index_set, as_size
from ..types import FloatArray, IntArray
from .distribution import SetDistribution, SetLaw


@dataclass(frozen=True, eq=False)
class FixedSize:
    """q(S | |S| = k) for a `LowRankDPP` (a k-DPP) or `IndependentSets`.

    >>> from variegate.dpp import IndependentSets
    >>> pairs = FixedSize(IndependentSets([0.0, 0.0, 0.0]), 2)
    >>> pairs.inclusion_prob().round(3), pairs.log_prob([0])
    (array([0.667, 0.667, 0.667]), -inf)
    """

    q: SetDistribution
    k: int

    def __post_init__(self) -> None:
        # the rank of q, which costs O(Md²), is checked when it is needed
        as_size(self.k, self.q.n_items, "the number of items")

    @property
    def theta(self) -> FloatArray:
        """Log-qualities (M,)."""
        return self.q.theta

    @property
    def items(self) -> npt.NDArray[Any]:
        """Labels (M,)."""
        return self.q.items

    @property
    def n_items(self) -> int:
        """M."""
        return self.q.n_items

    @property
    def expected_size(self) -> float:
        """k."""
        return float(self.k)

    @cached_property
    def log_normalizer(self) -> float:
        """log Σ_{|S|=k} e^{θ(S)} ν(S)."""
        return self.q.log_normalizer_fixed_size(self.k)

    def log_prob(self, S: npt.ArrayLike) -> float:
        """log q(S); −inf for sets of another size."""
        S = as_index_set(S, self.n_items)
        return self.q.log_prob(S) + self.q.log_normalizer - self.log_normalizer if len(S) == self.k else -np.inf

    def inclusion_prob(self) -> FloatArray:
        """P(m ∈ S), shape (M,)."""
        return self.q.inclusion_prob_fixed_size(self.k)

    def sample(self, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets, each a sorted array of positions."""
        return self.q.sample_fixed_size(self.k, n, rng)

    def condition(self, include: npt.ArrayLike = (), exclude: npt.ArrayLike = ()) -> Self:
        """The distribution of the other items given that S contains `include` and avoids `exclude`."""
        inside = as_index_set(include, self.n_items, "include")
        return type(self)(self.q.condition(include, exclude), self.k - len(inside))

    def map(self, size: int | None = None) -> IntArray:
        """The most probable set found."""
        if size not in (None, self.k):
            raise ValueError(f"size must be {self.k}, the size of all sets here, got {size}. Leave it out.")
        return self.q.map(self.k)


def of_size(q: SetDistribution, k: int | None) -> SetLaw:
    """q itself if k is None, else q given |S| = k.

    >>> from variegate.dpp import IndependentSets
    >>> of_size(IndependentSets([0.0, 1.0]), 1).expected_size
    1.0
    """
    return q if k is None else FixedSize(q, k)
