"""p(γ): priors over feature sets.

A prior is a distribution over sets, `LowRankDPP` or `IndependentSets`:

* Bernoulli(α) for every feature is `IndependentSets(logit α)`;
* the DPP prior with kernel (α/(1−α)) ΦΦᵀ is `LowRankDPP(Φ, logit α)`.

α is the probability of inclusion. Log-odds of single features are added to θ. `prior.rescaled(expected_size)` changes
the expected size; it is also the empirical-Bayes update of α: the ELBO is largest where the prior's expected size
equals the posterior's.
"""

import numpy as np
import numpy.typing as npt

from .dpp import IndependentSets, LowRankDPP


def bernoulli_prior(
    n_features: int, *, expected_size: float, log_odds: npt.ArrayLike | None = None
) -> IndependentSets:
    """Independent features, of which `expected_size` are included on average.

    `log_odds` (M,) favours single features: a feature with 2.0 has prior odds e² times those of one with 0.

    >>> bernoulli_prior(4, expected_size=2).inclusion_prob()
    array([0.5, 0.5, 0.5, 0.5])
    """
    return IndependentSets(_tilt(log_odds, n_features)).rescaled(expected_size)


def dpp_prior(phi: npt.ArrayLike, *, expected_size: float, log_odds: npt.ArrayLike | None = None) -> LowRankDPP:
    """A prior that prefers diverse sets: kernel (α/(1−α)) ΦΦᵀ, α chosen by the expected size.

    >>> prior = dpp_prior(np.ones((3, 1)), expected_size=0.5)  # three copies of one feature
    >>> prior.inclusion_prob().round(3)
    array([0.167, 0.167, 0.167])
    """
    n_features = (*np.shape(phi), 0)[0]  # LowRankDPP checks that phi is a matrix
    return LowRankDPP(phi, _tilt(log_odds, n_features)).rescaled(expected_size)


def _tilt(log_odds: npt.ArrayLike | None, n_features: int) -> npt.NDArray[np.float64]:
    if log_odds is None:
        return np.zeros(n_features)
    tilt = np.asarray(log_odds, dtype=np.float64)
    if tilt.shape != (n_features,):
        raise ValueError(f"log_odds must have one entry per feature, shape ({n_features},), got {tilt.shape}.")
    return tilt
