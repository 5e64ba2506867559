"""A DPP whose volume has an exponent: less or more diverse sets."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from ..sets import as_index_set, as_size, underflow_is_zero
from ..types import AnyFloatArray, FloatArray
from .low_rank import LowRankDPP
from .sizes import Sums, grown_sums
from .span import Rows
from .volume import Volume

SEED = 0  # for the estimate of the normaliser, so that a set always has the same probability


@dataclass(frozen=True, eq=False, repr=False)
class PoweredDPP:
    r"""Sets with the volume to a power.

    .. math:: p(S) \propto e^{\theta(S)} \det([\Phi\Phi^T]_S)^\beta

    With β = 0 items are independent, β = 1 is `LowRankDPP`; larger β gives more diverse sets. For other β the
    normaliser has no closed form: it is estimated once, by growing sets (`sizes.grown_sums`), with an error of about
    0.01 for expected sizes up to a tenth of the rank. O(MdK) per set, K half of the rank, for 32 sets or more.

    Parameters
    ----------
    phi : array (M, d)
    theta : array (M,)
    diversity : β, above 0

    Examples
    --------
    >>> phi = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])  # the second is a mixture of the others
    >>> [round(PoweredDPP(phi, np.zeros(3), beta).log_prob([0, 1]), 1) for beta in (0.1, 1.0, 10.0)]
    [-2.0, -2.8, -11.8]
    """

    rows: Rows
    theta: FloatArray
    diversity: float
    size_law: Sums

    def __init__(
        self, phi: npt.ArrayLike | Rows, theta: npt.ArrayLike, diversity: float, size_law: Sums | None = None
    ) -> None:
        base = LowRankDPP(phi, theta)  # checks that they fit together
        if not (np.isfinite(diversity) and diversity > 0):
            raise ValueError(f"diversity must be a finite number above 0, got {diversity!r}.")
        object.__setattr__(self, "rows", base.rows)
        object.__setattr__(self, "theta", base.theta)
        object.__setattr__(self, "diversity", float(diversity))
        object.__setattr__(self, "size_law", self._estimated() if size_law is None else size_law)

    def __repr__(self) -> str:
        return f"PoweredDPP(n_items={self.n_items}, diversity={self.diversity:g})"

    @property
    def phi(self) -> AnyFloatArray:
        """Similarity features (M, d)."""
        return self.rows.phi

    @cached_property
    def volume(self) -> Volume:
        """ν and its gains."""
        return Volume(self.rows)

    @underflow_is_zero
    def _estimated(self) -> Sums:
        items = np.arange(len(self.theta))
        log_weights = self.theta + 2 * self.diversity * self.volume.log_norms
        return grown_sums(self.volume.units(items), log_weights, self.diversity, np.random.default_rng(SEED))

    @property
    def n_items(self) -> int:
        """M."""
        return len(self.theta)

    @property
    def rank(self) -> int:
        """Size of the largest set with positive probability, or an upper bound."""
        return self.size_law.rank

    @cached_property
    def log_normalizer(self) -> float:
        """log Σ_S e^{θ(S)} ν(S)^β."""
        return self.size_law.log_normalizer(0.0)

    @cached_property
    def expected_size(self) -> float:
        """E|S|."""
        return self.size_law.expected(0.0)

    def log_normalizer_fixed_size(self, k: int) -> float:
        """The same over sets of k items."""
        return float(self.size_law.log_sums[as_size(k, len(self.size_law.log_sums) - 1, "the largest size")])

    def log_prob(self, S: npt.ArrayLike) -> float:
        """log p(S)."""
        S = as_index_set(S, self.n_items)
        log_volume = self.volume.log_volume(S)
        if log_volume == -np.inf:
            return -np.inf
        return float(self.theta[S].sum()) + self.diversity * log_volume - self.log_normalizer

    def shifted(self, shift: float) -> Self:
        """The same distribution with θ + shift."""
        return type(self)(self.rows, self.theta + shift, self.diversity, self.size_law.shifted(shift))

    def rescaled(self, expected_size: float) -> Self:
        """The same distribution with a constant added to θ that gives this expected size."""
        if not 0 < expected_size <= 0.5 * self.rank:
            raise ValueError(
                f"expected_size must be above 0 and at most {0.5 * self.rank:g}, half of the rank of phi, got "
                f"{expected_size}."
            )
        return self.shifted(self.size_law.shift(expected_size))
