"""The result of the paper's methods: q, and sets drawn from it."""

from dataclasses import dataclass, field

import numpy as np

from ..dpp import SetDistribution, of_size
from ..inference import Target
from ..types import FloatArray, IntArray

DRAWN = 400  # sets for the ELBO of the result: its error is then 0.05 nats per nat of spread
NEVER = -1e6  # log-odds of features that the prior rules out: if q drew one, the ELBO would be −∞


@dataclass(frozen=True, eq=False)
class Fit:
    """A member q of the family, with its evidence lower bound.

    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.paper import natural_gradient
    >>> from variegate.priors import bernoulli_prior
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> target = Target(Gaussian(X, X[:, 1] + X[:, 2]), bernoulli_prior(4, expected_size=1), family="bernoulli")
    >>> found = natural_gradient(target, 0)
    >>> found.q.map(), found.inclusion.round()
    (array([1, 2]), array([0., 1., 1., 0.]))
    """

    q: SetDistribution
    target: Target
    elbo: float
    elbo_error: float  # Monte Carlo standard error
    elbo_trace: FloatArray  # an estimate for each iteration
    sets: list[IntArray] = field(repr=False)  # drawn from q, or from q given the fixed size

    @classmethod
    def of(cls, target: Target, theta: FloatArray, trace: list[float], rng: np.random.Generator) -> "Fit":
        """The result for q_θ, with its ELBO from new sets."""
        q = target.distribution(theta)
        sets = target.draw(q, DRAWN, rng)
        log_ratios = target.log_ratios(q, sets)
        error = float(log_ratios.std() / np.sqrt(DRAWN))
        return cls(q, target, float(log_ratios.mean()), error, np.array(trace), sets)

    @property
    def inclusion(self) -> FloatArray:
        """P(feature in set) under q (M,)."""
        return of_size(self.q, self.target.size).inclusion_prob()


def flat_start(target: Target) -> FloatArray:
    """θ with the expected size of the prior, or the fixed size. Paper: Algorithm 1, first line."""
    size = target.size or target.prior.expected_size
    q = target.distribution(target.prior.theta - target.prior.theta.mean())
    if not target.prior_has_volume or size > target.prior.expected_size:
        size = min(size, 0.9 * q.rank)
    return np.where(target.impossible, NEVER, q.rescaled(size).theta)


def start_from(target: Target, start: FloatArray | None) -> FloatArray:
    """The given θ (M,), or the flat one."""
    if start is None:
        return flat_start(target)
    theta = np.asarray(start, dtype=np.float64)
    if theta.shape != (target.n_features,) or not np.isfinite(theta).all():
        raise ValueError(f"start must hold {target.n_features} finite numbers, one per feature, got {start!r}.")
    return np.where(target.impossible, NEVER, theta)
