"""A likelihood of one's own: costs, y ~ Gamma with mean e^η, from its derivatives.

python examples/costs.py
"""

from typing import NamedTuple

import numpy as np

import variegate as vg
from variegate.likelihoods import Derivatives


class GammaTerms(NamedTuple):
    """Σ k(log y − η) − k y e^{−η} of a Gamma law of shape k, up to what does not depend on η."""

    y: np.ndarray
    shape: float

    @property
    def null(self) -> float:
        """Log of the mean."""
        return float(np.log(self.y.mean()))

    def derivatives(self, eta: np.ndarray) -> Derivatives:
        """The log-likelihood, its slope, and minus its second derivative."""
        ratio = self.y * np.exp(-eta)
        return Derivatives(
            value=float(self.shape * (-eta - ratio).sum()),
            slope=self.shape * (ratio - 1.0),
            weight=self.shape * ratio,  # minus the second derivative
        )


def main() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(120, 4)), 3, axis=1) + 0.3 * rng.normal(size=(120, 12))  # four kinds, three alike
    y = rng.gamma(3.0, np.exp(1 + 0.5 * X[:, 0] - 0.4 * X[:, 6]) / 3.0)

    likelihood = vg.Laplace(X, GammaTerms(y, shape=3.0))
    prior = vg.dpp_prior(vg.similarity.from_columns(X), expected_size=2)
    posterior = vg.Posterior(vg.sample(vg.Target(likelihood, prior), rng))
    print("inclusion probabilities:", posterior.inclusion_prob().round(2))
    print(
        "most probable set:",
        posterior.map().tolist(),
        "(columns 0 and 6 made the costs; 1, 2 and 7, 8 are their near-copies)",
    )


if __name__ == "__main__":
    main()
