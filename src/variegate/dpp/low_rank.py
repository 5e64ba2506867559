"""The determinantal point process q_θ(S) ∝ e^{θ(S)} det([ΦΦᵀ]_S)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.special import expit, logit

from ..sets import (
    as_count,
    as_index_set,
    as_items,
    as_positions,
    as_size,
    as_theta,
    as_vector,
    row_blocks,
    split_items,
    underflow_is_zero,
)
from ..types import AnyFloatArray, FloatArray, IntArray
from . import maximise, poisson_binomial
from .decomposition import Decomposition, decompose, lift_for_eigenvalues
from .sampling import draw_projections
from .sizes import Trials
from .span import Rows, Span, log_row_norms, uncertainty

# Decompositions for fixed sizes cached by each object; each may take as much memory as Φ.
KEPT_SIZES = 2


class _SizeOutOfReach(ValueError):
    """No constant added to θ gives the requested size."""


@dataclass(frozen=True, eq=False, repr=False)
class LowRankDPP:
    r"""Determinantal point process with similarity features Φ and log-qualities θ.

    .. math:: q_\theta(S) = e^{\theta(S)} \det([\Phi\Phi^T]_S) / Z, \quad Z = \det(I + L), \quad
              L = D\Phi\Phi^T D, \quad D = \mathrm{diag}(e^{\theta/2})

    Paper: Eq. 5. Sets are sorted arrays of positions; boolean masks are accepted as arguments. Nothing of size M×M
    is formed: memory is O(Md). The object is immutable; do not change `phi` in place afterwards.

    Parameters
    ----------
    phi : array (M, d)
        Similarity features, one row per item. float32 is kept and accumulated in float64.
    theta : array (M,)
        Log-qualities.
    items : array (M,), optional
        Labels of the items, by default their positions; `condition` keeps them.

    Examples
    --------
    >>> dpp = LowRankDPP([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 0.0, 0.0])
    >>> dpp.inclusion_prob().round(3)  # two copies share the probability of one item
    array([0.333, 0.333, 0.5  ])
    >>> dpp.log_prob([0, 1])
    -inf
    """

    rows: Rows
    theta: FloatArray
    items: npt.NDArray[Any]

    def __init__(self, phi: npt.ArrayLike | Rows, theta: npt.ArrayLike, items: npt.ArrayLike | None = None) -> None:
        rows, theta = Rows.of(phi), as_theta(theta)
        if len(rows.phi) != len(theta):
            raise ValueError(
                f"phi and theta must describe the same items, got {len(rows.phi)} rows and {len(theta)} log-qualities."
            )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "items", as_items(items, len(theta)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without cached values."""
        return type(self), (self.rows, self.theta, self.items)

    def __repr__(self) -> str:
        return f"LowRankDPP(n_items={self.n_items}, n_dimensions={self.phi.shape[1]})"

    @property
    def n_items(self) -> int:
        """M."""
        return len(self.theta)

    @property
    def phi(self) -> AnyFloatArray:
        """Similarity features (M, d)."""
        return self.rows.phi

    # --- numerics shared by the public methods ----------------------------------------------------------------

    @cached_property
    def _numerics(self) -> Decomposition:
        return decompose(self.rows, self.theta)

    @property
    def _weights(self) -> maximise.Weights:
        return maximise.Weights(self.rows, self.theta)

    def with_theta(self, theta: FloatArray) -> Self:
        """The same distribution with log-qualities `theta` (M,)."""
        theta = as_theta(theta)
        if len(theta) != self.n_items:
            raise ValueError(f"theta must have {self.n_items} entries, one per item, got {len(theta)}.")
        return type(self)(self.rows, theta, self.items)

    def shifted(self, shift: float) -> Self:
        """The same distribution with θ + shift; known eigenvalues are shifted, not computed again."""
        other = self.with_theta(self.theta + shift)
        if "log_eigenvalues" in self.__dict__:
            moved = self.log_eigenvalues + shift
            other.__dict__["log_eigenvalues"] = moved
            other.__dict__["log_normalizer"] = float(np.logaddexp(0.0, moved).sum())
            other.__dict__["expected_size"] = float(expit(moved).sum())
        return other

    # --- the distribution -------------------------------------------------------------------------------------

    @cached_property
    @underflow_is_zero
    def log_normalizer(self) -> float:
        """log Z = log det(I + L). O(Md²)."""
        return self._numerics.log_normalizer

    @cached_property
    @underflow_is_zero
    def expected_size(self) -> float:
        """E|S| = tr K = Σ λ_j/(1+λ_j)."""
        return float(self._numerics.spectrum.mu.sum())

    @cached_property
    @underflow_is_zero
    def log_eigenvalues(self) -> FloatArray:
        """Logs of the non-zero eigenvalues of L. O(Md²)."""
        lift = lift_for_eigenvalues(self.rows, self.theta)
        numerics = decompose(self.rows, self.theta + lift) if lift else self._numerics
        return numerics.log_odds - lift

    @property
    def size_law(self) -> Trials:
        """The distribution of |S|."""
        return Trials(self.log_eigenvalues)

    @property
    def diversity(self) -> float:
        """The exponent of the volume: one."""
        return 1.0

    @cached_property
    @underflow_is_zero
    def rank(self) -> int:
        """Size of the largest set with positive probability. O(Md·rank)."""
        return self.rows.rank()

    @underflow_is_zero
    def log_prob(self, S: npt.ArrayLike) -> float:
        """log q(S); −inf if the rows of S are linearly dependent. O(d|S|²) after the normaliser."""
        # near the span tolerance, the normaliser may omit a set that still has positive weight
        return min(self._weights.log_weight(as_index_set(S, self.n_items)) - self.log_normalizer, 0.0)

    @underflow_is_zero
    def inclusion_prob(self) -> FloatArray:
        """P(m ∈ S) = K_mm for every item, shape (M,). O(Md²)."""
        found = np.empty(self.n_items)
        for block in row_blocks(*self.phi.shape):
            F = self._numerics.marginal_rows(block)
            found[block] = np.einsum("md,md->m", F, F)
        return np.minimum(found, 1.0)

    @underflow_is_zero
    def marginal_kernel(self, rows: npt.ArrayLike, cols: npt.ArrayLike | None = None) -> FloatArray:
        """The block K[rows, cols] of the marginal kernel K = L(I+L)⁻¹; cols defaults to rows."""
        left = self._numerics.marginal_rows(as_positions(rows, self.n_items, "rows"))
        if cols is None:
            return left @ left.T
        return left @ self._numerics.marginal_rows(as_positions(cols, self.n_items, "cols")).T

    @underflow_is_zero
    def covariance_matvec(self, v: npt.ArrayLike) -> FloatArray:
        """Cov(γ)v = (diag(K) − K∘K)v without forming K. O(Md²).

        With K = FFᵀ, (K∘K)v = diag(F (Fᵀ diag(v) F) Fᵀ). Errors are of order 10⁻¹⁶‖v‖, so a variance K_mm(1 − K_mm)
        as small as that, of an item that is almost surely included, has no correct digits.
        """
        v = as_vector(v, self.n_items)
        blocks = row_blocks(*self.phi.shape)
        inner = np.zeros_like(self._numerics.cholesky)
        for block in blocks:
            F = self._numerics.marginal_rows(block)
            inner += F.T @ (v[block, None] * F)
        product = np.empty(self.n_items)
        for block in blocks:
            F = self._numerics.marginal_rows(block)
            product[block] = np.einsum("md,md->m", F, F) * v[block] - np.einsum("md,md->m", F @ inner, F)
        return product

    # --- drawing sets -----------------------------------------------------------------------------------------

    @underflow_is_zero
    def sample(self, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets exactly; each is a sorted array of positions.

        O(Md² + d³) once per object for the eigendecomposition, then O(Md) for each eigenvector on first use
        and O(k³ log k) per set.
        """
        n, rng = as_count(n), np.random.default_rng(rng)
        picks = poisson_binomial.draw(self._numerics.spectrum.mu, n, rng)
        return draw_projections(self._numerics.store, picks, rng)

    @underflow_is_zero
    def sample_fixed_size(self, k: int, n: int, rng: np.random.Generator | int) -> list[IntArray]:
        """Draw n sets of exactly k items (k-DPP). After the decomposition O(dk), and O(k³ log k) per set."""
        n, rng, k = as_count(n), np.random.default_rng(rng), self._as_size(k)
        numerics = self._centred_on(k)[0]._numerics
        picks = poisson_binomial.draw_given_size(numerics.spectrum.mu, k, n, rng)
        return draw_projections(numerics.store, picks, rng)

    @underflow_is_zero
    def inclusion_prob_fixed_size(self, k: int) -> FloatArray:
        """P(m ∈ S | |S| = k) for every item, shape (M,). O(Md²)."""
        k = self._as_size(k)
        numerics = self._centred_on(k)[0]._numerics
        weight = poisson_binomial.success_prob_given_size(numerics.spectrum.mu, k)
        found = np.empty(self.n_items)
        for block in row_blocks(*self.phi.shape):
            found[block] = (numerics.factor.rows(block) @ numerics.spectrum.transform) ** 2 @ weight
        return np.minimum(found, 1.0)

    @underflow_is_zero
    def log_normalizer_fixed_size(self, k: int) -> float:
        """log Σ_{|S|=k} e^{θ(S)} det([ΦΦᵀ]_S) = log e_k(λ)."""
        k = self._as_size(k)
        if k == 0:
            return 0.0  # the empty set has weight one, but its probability may underflow
        scaled, shift = self._centred_on(k)
        log_size_prob = poisson_binomial.log_size_prob(scaled._numerics.spectrum.mu, k)
        return scaled.log_normalizer + log_size_prob - k * shift

    @cached_property
    def _largest_size(self) -> int:
        """A cheap upper bound on the rank."""
        return int(min(self.phi.shape[1], np.count_nonzero(self.rows.log_norms > -np.inf)))

    def _as_size(self, k: int) -> int:
        return as_size(k, self._largest_size, "min(non-zero rows, columns) of phi")

    @cached_property
    def _centred(self) -> dict[int, tuple[Self, float]]:
        return {}

    def _centred_on(self, k: int) -> tuple[Self, float]:
        """The same k-DPP with an expected size near k, and the constant added to θ for it.

        A k-DPP does not depend on that constant, and P(|S| = k) is not small there. The last KEPT_SIZES results are
        cached. Threads that share the object may at worst repeat work: the dict is replaced, never modified.
        """
        found = self._centred.get(k)
        if found is None:
            try:
                found = (self, 0.0) if k == 0 else self._rescaled(k - 0.5, tolerance=0.1)
            except _SizeOutOfReach:
                as_size(k, self.rank, "the rank of phi: larger sets have probability zero")
                raise
        others = [(size, kept) for size, kept in self._centred.items() if size != k]
        self.__dict__["_centred"] = dict([*others[1 - KEPT_SIZES :], (k, found)])
        return found

    # --- other DPPs from this one -----------------------------------------------------------------------------

    @underflow_is_zero
    def rescaled(self, expected_size: float) -> Self:
        """The same distribution with a constant added to θ that gives this expected size.

        Solves Σ_j e^{c}λ_j / (1 + e^{c}λ_j) = κ. Paper: Algorithm 1, first line.
        """
        if not 0 < expected_size < self._largest_size:
            raise ValueError(
                f"expected_size must be above 0 and below {self._largest_size}, min(non-zero rows, columns) of phi, "
                f"got {expected_size}."
            )
        return self._rescaled(float(expected_size), tolerance=1e-10 * min(expected_size, 1.0))[0]

    def _rescaled(self, expected_size: float, tolerance: float) -> tuple[Self, float]:
        shift = -float((self.theta + 2 * self.rows.log_norms).max())
        low, high, stride = -np.inf, np.inf, 20.0
        for _ in range(200):
            scaled = self.with_theta(self.theta + shift)
            mu = scaled._numerics.spectrum.mu
            error = mu.sum() - expected_size
            if abs(error) <= tolerance or high - low < 1e-12 * max(1.0, abs(shift)):
                return scaled, shift
            low, high = (low, shift) if error > 0 else (shift, high)
            # beyond a logit of 40, 1 − μ is rounding error
            step = poisson_binomial.shift_for_size(np.minimum(logit(mu[mu > 0]), 40.0), expected_size)
            if step == np.inf and expected_size >= self.rank:
                break
            if low < shift + step < high:
                shift += step
            elif np.isfinite(low) and np.isfinite(high):
                shift = 0.5 * (low + high)
            else:
                shift += stride if error < 0 else -stride
                stride *= 2
        raise _SizeOutOfReach(
            f"expected_size must be below {self.rank}, the rank of phi, got {expected_size}. Ask for a smaller size."
        )

    @underflow_is_zero
    def condition(self, include: npt.ArrayLike = (), exclude: npt.ArrayLike = ()) -> Self:
        """The distribution of S∖A given that S contains A = include and avoids B = exclude.

        It is a LowRankDPP over the remaining items (`items` has their labels): the same θ and the rows of ΦP, where P
        projects out span{φ_a : a ∈ A}. O(Md²).
        """
        inside, rest = split_items(include, exclude, self.n_items)
        span, triangle = self.rows.span(inside)
        if len(triangle.order) < len(inside):
            raise ValueError(
                f"include must be items with linearly independent rows of phi, got {inside.tolist()}: a set never "
                "contains all of them. Include fewer."
            )
        rows = self._projected(rest, span) if len(inside) else self.rows.take(rest)
        return type(self)(rows, self.theta[rest], self.items[rest])

    def _projected(self, rest: IntArray, span: Span) -> Rows:
        """Residuals of the rows, in coordinates of the complement, zero below their floors."""
        k = len(span.blur)
        basis = linalg.qr(span.basis)[0]
        phi = np.empty((len(rest), self.phi.shape[1] - k), dtype=self.phi.dtype)
        off = np.empty(len(rest))
        for block in row_blocks(*phi.shape):
            phi[block] = self.phi[rest[block]] @ basis[:, k:]
            off[block] = uncertainty(self.rows.units(rest[block]) @ span.basis, span.blur)
        # residuals of float32 rows are no smaller than their rounding
        off = np.maximum(off, 16 * np.finfo(phi.dtype).eps)
        log_floor = np.maximum(self.rows.log_floor[rest], self.rows.log_norms[rest] + np.log(off))
        log_norms = log_row_norms(phi)
        inside = log_norms < log_floor
        phi[inside], log_norms[inside] = 0.0, -np.inf
        return Rows(phi, log_norms, log_floor)

    @underflow_is_zero
    def map(self, size: int | None = None) -> IntArray:
        """A set, of size `size` if given, that no single addition, removal or exchange improves.

        Greedy growth (Chen et al. 2018), then exchanges. O(Mdk), plus O(Mdk) per exchange.
        """
        if size is not None:
            size = self._as_size(size)
        S = maximise.grow(self._weights, size)
        if size is not None and len(S) < size:
            raise ValueError(
                f"size must be at most {len(S)}, the rank of phi, got {size}: larger sets have probability zero."
            )
        return maximise.exchange(self._weights, S, keep_size=size is not None)
