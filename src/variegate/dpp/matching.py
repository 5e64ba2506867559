"""The member of a family of distributions that has given inclusion probabilities.

q_θ is an exponential family in θ with statistic γ, so the member with the inclusion probabilities of p minimises
KL(p‖q): a convex problem with one solution. With D = diag(K)(1 − diag(K)) the derivative of logit diag(K) is
D⁻¹Cov(γ), whose eigenvalues lie between 0 and 2, because Σ_j K_ij² ≤ K_ii. So the iteration

    θ ← θ + logit p − logit diag(K)

does not diverge.
"""

from typing import TypeVar

import numpy as np
from scipy.special import logit

from ..types import FloatArray
from .distribution import SetDistribution
from .fixed_size import of_size

Family = TypeVar("Family", bound=SetDistribution)

# Probabilities of exactly 0 or 1 need an infinite θ; Monte Carlo estimates cannot tell these limits from them.
RANGE = (1e-6, 1 - 1e-6)
ROUNDS = 40
CLOSE = 1e-3  # largest remaining difference; Monte Carlo errors are ten times as large


def with_inclusion_prob(start: Family, probabilities: FloatArray, size: int | None = None) -> Family:
    """The member of `start`'s family with these inclusion probabilities (M,), among sets of size `size` if given.

    Probabilities that no member has, such as 0.9 for each of two copies, are approximated, and after ROUNDS rounds the
    search stops: compare `inclusion_prob()` with what was asked for. O(Md²) per round.

    >>> from variegate.dpp import LowRankDPP
    >>> twins = LowRankDPP([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 0.0, 0.0])
    >>> with_inclusion_prob(twins, np.array([0.3, 0.5, 0.9])).inclusion_prob().round(2)
    array([0.3, 0.5, 0.9])
    """
    aim = logit(np.clip(probabilities, *RANGE))
    q = start
    for _ in range(ROUNDS):
        reached = of_size(q, size).inclusion_prob()
        if np.abs(reached - probabilities)[reached > 0].max(initial=0.0) < CLOSE:
            break
        move = aim - logit(np.clip(reached, *RANGE))
        q = q.with_theta(np.where(reached > 0, q.theta + move, q.theta))
    return q
