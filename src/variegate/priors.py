"""p(γ): priors over feature sets.

A prior is a distribution over sets, `LowRankDPP` or `IndependentSets`:

* Bernoulli(α) for every feature is `IndependentSets(logit α)`;
* the DPP prior with kernel (α/(1−α)) ΦΦᵀ is `LowRankDPP(Φ, logit α)`;
* with the volume to a power, p(S) ∝ e^{θ(S)} ν(S)^β, it is `PoweredDPP(Φ, θ, β)`; β is called diversity.

α is the probability of inclusion. Log-odds of single features are added to θ. `prior.rescaled(expected_size)` changes
the expected size; it is also the empirical-Bayes update of α: the ELBO is largest where the prior's expected size
equals the posterior's.
"""

from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from .dpp import IndependentSets, LowRankDPP, PoweredDPP, Rows, SizeLaw
from .types import FloatArray


class Prior(Protocol):
    """p(S) ∝ e^{θ(S)} ν(S)^β: `IndependentSets` (β = 0), `LowRankDPP` (β = 1) or `PoweredDPP`.

    >>> prior: Prior = bernoulli_prior(4, expected_size=2)
    >>> prior.diversity
    0.0
    """

    @property
    def theta(self) -> FloatArray:
        """Log-qualities (M,)."""

    @property
    def rows(self) -> Rows | None:
        """Similarity features Φ (M, d) with their norms, if β > 0."""

    @property
    def diversity(self) -> float:
        """β."""

    @property
    def n_items(self) -> int:
        """M."""

    @property
    def rank(self) -> int:
        """Size of the largest set with positive probability."""

    @property
    def size_law(self) -> SizeLaw:
        """The distribution of |S|."""

    @property
    def expected_size(self) -> float:
        """E|S|."""

    @property
    def log_normalizer(self) -> float:
        """log Σ_S e^{θ(S)} ν(S)^β."""

    def log_normalizer_fixed_size(self, k: int) -> float:
        """The same over sets of k features."""

    def shifted(self, shift: float) -> Self:
        """The same prior with θ + shift."""

    def rescaled(self, expected_size: float) -> Self:
        """The same prior with a constant added to θ that gives this expected size."""


def bernoulli_prior(
    n_features: int, *, expected_size: float, log_odds: npt.ArrayLike | None = None
) -> IndependentSets:
    """Independent features, with `expected_size` of them included on average.

    `log_odds` (M,) favours single features: a feature with 2.0 has prior odds e² times those of one with 0.

    >>> bernoulli_prior(4, expected_size=2).inclusion_prob()
    array([0.5, 0.5, 0.5, 0.5])
    """
    return IndependentSets(_tilt(log_odds, n_features)).rescaled(expected_size)


def dpp_prior(
    phi: npt.ArrayLike | Rows, *, expected_size: float, log_odds: npt.ArrayLike | None = None, diversity: float = 1.0
) -> Prior:
    """A prior that favours diverse sets: kernel (α/(1−α)) ΦΦᵀ, with α given by the expected size.

    `diversity` is the exponent of the volume: 0 is Bernoulli, above 1 sets are even more diverse.

    >>> prior = dpp_prior(np.ones((3, 1)), expected_size=0.5)  # three copies of one feature
    >>> prior.inclusion_prob().round(3)
    array([0.167, 0.167, 0.167])
    """
    rows = Rows.of(phi)
    return volume_prior(rows, _tilt(log_odds, len(rows.phi)), diversity).rescaled(expected_size)


def volume_prior(rows: Rows | None, theta: npt.NDArray[np.float64], diversity: float) -> Prior:
    """p(S) ∝ e^{θ(S)} ν(S)^β.

    >>> volume_prior(None, np.zeros(2), 0.0).expected_size
    1.0
    """
    if diversity == 0:
        return IndependentSets(theta)
    if rows is None:
        raise ValueError(f"phi must be given for a diversity above zero, got None with diversity {diversity!r}.")
    return LowRankDPP(rows, theta) if diversity == 1 else PoweredDPP(rows, theta, diversity)


def _tilt(log_odds: npt.ArrayLike | None, n_features: int) -> npt.NDArray[np.float64]:
    if log_odds is None:
        return np.zeros(n_features)
    tilt = np.asarray(log_odds, dtype=np.float64)
    if tilt.shape != (n_features,):
        raise ValueError(f"log_odds must have one entry per feature, shape ({n_features},), got {tilt.shape}.")
    return tilt
