"""The mean-field counterpart of the DPP: items are included independently."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ..sets import (
    as_count,
    as_index_set,
    as_items,
    as_positions,
    as_size,
    as_theta,
    as_vector,
    split_items,
    underflow_is_zero,
)
from ..types import FloatArray, IntArray
from . import poisson_binomial
from .sizes import Trials


@dataclass(frozen=True, eq=False, repr=False)
class IndependentSets:
    r"""Independent inclusion of every item: the DPP with :math:`\Phi\Phi^T = I`.

    .. math:: q_\theta(S) = e^{\theta(S)} / \prod_m (1 + e^{\theta_m})

    Paper: Eq. 4. Same methods and conventions as `LowRankDPP`.

    Examples
    --------
    >>> sets = IndependentSets([0.0, 2.0])
    >>> sets.inclusion_prob().round(3)
    array([0.5  , 0.881])
    """

    theta: FloatArray
    items: npt.NDArray[Any]

    def __init__(self, theta: npt.ArrayLike, items: npt.ArrayLike | None = None) -> None:
        object.__setattr__(self, "theta", as_theta(theta))
        object.__setattr__(self, "items", as_items(items, len(self.theta)))

    def __reduce__(self) -> tuple[type[Self], tuple[FloatArray, npt.NDArray[Any]]]:
        """Pickle without cached values."""
        return type(self), (self.theta, self.items)

    def __repr__(self) -> str:
        return f"IndependentSets(n_items={self.n_items})"

    @property
    def n_items(self) -> int:
        """M."""
        return len(self.theta)

    def with_theta(self, theta: FloatArray) -> Self:
        """The same distribution with log-qualities `theta` (M,)."""
        return type(self)(theta, self.items)

    def shifted(self, shift: float) -> Self:
        """The same distribution with θ + shift."""
        return self.with_theta(self.theta + shift)

    @cached_property
    @underflow_is_zero
    def log_normalizer(self) -> float:
        """log Z = Σ log(1 + e^{θ_m})."""
        return float(np.logaddexp(0.0, self.theta).sum())

    @cached_property
    @underflow_is_zero
    def expected_size(self) -> float:
        """E|S|."""
        return float(self.inclusion_prob().sum())

    @property
    def log_eigenvalues(self) -> FloatArray:
        """Logs of the eigenvalues of the diagonal kernel: θ."""
        return self.theta

    @property
    def size_law(self) -> Trials:
        """The distribution of |S|."""
        return Trials(self.theta)

    @property
    def diversity(self) -> float:
        """The exponent of the volume: zero."""
        return 0.0

    @property
    def rows(self) -> None:
        """Similarity features: none."""

    @property
    def rank(self) -> int:
        """Size of the largest set with positive probability: M."""
        return self.n_items

    def log_prob(self, S: npt.ArrayLike) -> float:
        """log q(S)."""
        return float(self.theta[as_index_set(S, self.n_items)].sum()) - self.log_normalizer

    @underflow_is_zero
    def inclusion_prob(self) -> FloatArray:
        """P(m ∈ S) = σ(θ_m), shape (M,)."""
        return np.asarray(expit(self.theta))

    def marginal_kernel(self, rows: npt.ArrayLike, cols: npt.ArrayLike | None = None) -> FloatArray:
        """The block K[rows, cols] of the diagonal marginal kernel; cols defaults to rows."""
        left = as_positions(rows, self.n_items, "rows")
        right = left if cols is None else as_positions(cols, self.n_items, "cols")
        return np.where(left[:, None] == right[None, :], self.inclusion_prob()[left][:, None], 0.0)

    @underflow_is_zero
    def covariance_matvec(self, v: npt.ArrayLike) -> FloatArray:
        """Cov(γ)v; Cov(γ) is diagonal."""
        v = as_vector(v, self.n_items)
        return np.asarray(expit(self.theta) * expit(-self.theta) * v)

    @underflow_is_zero
    def sample(self, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets; each is a sorted array of positions."""
        n, rng = as_count(n), np.random.default_rng(rng)
        return poisson_binomial.draw(self.inclusion_prob(), n, rng)

    @underflow_is_zero
    def sample_fixed_size(self, k: int, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets of exactly k items. O(Mk) memory."""
        n, rng, k = as_count(n), np.random.default_rng(rng), self._as_size(k)
        mu = self._centred_on(k)[0].inclusion_prob()
        return poisson_binomial.draw_given_size(mu, k, n, rng)

    @underflow_is_zero
    def inclusion_prob_fixed_size(self, k: int) -> FloatArray:
        """P(m ∈ S | |S| = k), shape (M,). O(Mk)."""
        k = self._as_size(k)
        return poisson_binomial.success_prob_given_size(self._centred_on(k)[0].inclusion_prob(), k)

    @underflow_is_zero
    def log_normalizer_fixed_size(self, k: int) -> float:
        """log Σ_{|S|=k} e^{θ(S)}."""
        k = self._as_size(k)
        if k == 0:
            return 0.0  # the empty set has weight one, but its probability may underflow
        centred, shift = self._centred_on(k)
        return centred.log_normalizer + poisson_binomial.log_size_prob(centred.inclusion_prob(), k) - k * shift

    def _as_size(self, k: int) -> int:
        return as_size(k, self.n_items, "the number of items")

    def _centred_on(self, k: int) -> tuple[Self, float]:
        if k == 0:
            return self, 0.0
        shift = poisson_binomial.shift_for_size(self.theta, min(float(k), self.n_items - 0.5))
        return type(self)(self.theta + shift, self.items), shift

    @underflow_is_zero
    def rescaled(self, expected_size: float) -> Self:
        """The same distribution with a constant added to θ that gives this expected size."""
        if not 0 < expected_size < self.n_items:
            raise ValueError(
                f"expected_size must be above 0 and below {self.n_items}, the number of items, got {expected_size}."
            )
        shift = poisson_binomial.shift_for_size(self.theta, expected_size)
        return type(self)(self.theta + shift, self.items)

    def condition(self, include: npt.ArrayLike = (), exclude: npt.ArrayLike = ()) -> Self:
        """The distribution of the other items given that S contains `include` and avoids `exclude`: unchanged."""
        _, rest = split_items(include, exclude, self.n_items)
        return type(self)(self.theta[rest], self.items[rest])

    def map(self, size: int | None = None) -> IntArray:
        """The most probable set, of size `size` if given."""
        if size is None:
            return np.flatnonzero(self.theta > 0)
        size = self._as_size(size)
        return np.sort(np.argsort(-self.theta, kind="stable")[:size])
