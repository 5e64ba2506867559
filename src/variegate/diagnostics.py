"""How a fit went, in numbers and in words."""

from typing import NamedTuple

import numpy as np

RELIABLE = 0.7  # importance weights with a larger k̂ are not
OVERLOOKED = np.log(20.0)  # q overlooks a rival of the best set if it makes it this much rarer than the target does
UNUSUAL = 0.05  # conditions that fewer sets of q meet are about sets that the fit hardly looked at
HARDLY_ANY = 0.5  # expected size below which the data support no feature


class Diagnostics(NamedTuple):
    """How the fit went, and how far q can be trusted.

    >>> fine = Diagnostics(
    ...     elbo=-80.0, elbo_error=0.01, converged=True, n_iter=12, pareto_k=0.3, effective_size=350.0, n_sets=400,
    ...     expected_size=2.1, prior_expected_size=2.0, slab_precision=10.0,
    ... )
    >>> fine.messages()
    []
    >>> len(fine._replace(pareto_k=0.9).messages())
    1
    """

    elbo: float
    elbo_error: float
    converged: bool
    n_iter: int
    pareto_k: float
    effective_size: float  # of `n_sets` importance-weighted sets
    n_sets: int
    expected_size: float
    prior_expected_size: float
    slab_precision: float | None
    independent: bool = False  # q takes the features as independent: posterior="bernoulli"
    condition_probability: float = 1.0  # share of q's sets that meet the conditions of `condition`
    overlooked: float = 0.0  # nats by which q underrates a rival of the best set; importance weights cannot see it

    def messages(self) -> list[str]:
        """What a reader who is no specialist should know; empty if all is well."""
        found = []
        if not self.converged:
            found.append("The fit had not settled when it stopped: allow more iterations (max_iter).")
        if self.pareto_k > RELIABLE:
            found.append(
                "Inclusion probabilities are rough: the exact distribution over sets is harder than the fitted one "
                f"(Pareto k {self.pareto_k:.2f}, above 0.7). Read them as high, middling or low; in Python, "
                "inclusion_prob(corrected=True) comes closer and sample_posterior gives a check."
            )
        if self.condition_probability < UNUSUAL:
            found.append(
                f"Only {self.condition_probability:.2g} of the fitted distribution meets these conditions, and a fit "
                "is made for the likely sets: the probability of a feature that would stand in for an excluded one "
                "may be far too low. In Python, inclusion_prob(corrected=True) asks the data instead."
            )
        if self.overlooked > OVERLOOKED:
            found.append(
                f"Some set is about as good as the best one, yet {_times(self.overlooked)} rarer in the fitted "
                "distribution than it should be: features that can stand in for each other, copies perhaps, do not "
                "share their probability, and a low one may be as good as a chosen one. Look at the alternatives "
                f"before you discard it.{' A DPP posterior lets them share it.' if self.independent else ''}"
            )
        if self.expected_size < HARDLY_ANY:
            found.append(
                "The data hardly support any feature: fewer than one is expected in a set. Do not read much into any "
                "selection from them."
            )
        return found


def _times(log_ratio: float) -> str:
    """A ratio in words.

    >>> _times(np.log(8390.0)), _times(np.inf)
    ('8,390 times', 'more than a million times')
    """
    return "more than a million times" if log_ratio > np.log(1e6) else f"{np.exp(log_ratio):,.0f} times"
