"""How a fit went, in numbers and in messages."""

from typing import NamedTuple

import numpy as np

RELIABLE = 0.7  # importance weights with a larger k̂ are unreliable
OVERLOOKED = np.log(20.0)  # q overlooks a set about as good as the best one if it underrates it by this factor
UNUSUAL = 0.05  # conditions with a lower probability under q are met by sets that the fit rarely drew
HARDLY_ANY = 0.5  # expected size below which the data support no feature


class Bound(NamedTuple):
    """Diagnostics of a variational fit.

    >>> Bound(elbo=-80.0, elbo_error=0.01, pareto_k=0.3, effective_size=350.0, n_sets=400).pareto_k
    0.3
    """

    elbo: float
    elbo_error: float
    pareto_k: float
    effective_size: float  # of `n_sets` importance-weighted sets
    n_sets: int
    independent: bool = False  # features are independent under q: posterior="bernoulli"
    condition_probability: float = 1.0  # probability under q that a set meets the conditions of `condition`
    overlooked: float = 0.0  # nats by which q underrates a set about as good as the best; importance weights miss it


class Diagnostics(NamedTuple):
    """How the fit went, and how accurate its probabilities are.

    `bound` is None for exact chains, whose probabilities have no error but the Monte Carlo error.

    >>> fine = Diagnostics(
    ...     converged=True, n_iter=12, expected_size=2.1, prior_expected_size=2.0, slab_precision=10.0,
    ...     largest_error=0.02, tol=0.03, disagreement=1.5, effective_size=600.0, n_sets=400,
    ... )
    >>> fine.messages()
    []
    >>> len(fine._replace(largest_error=0.1, converged=False).messages())
    1
    """

    converged: bool
    n_iter: int  # laps of the chains, or iterations
    expected_size: float
    prior_expected_size: float
    slab_precision: float | None
    n_sets: int
    largest_error: float | None = None  # Monte Carlo error of the least certain probability; None: not known
    tol: float | None = None  # the requested error
    disagreement: float | None = None  # variance between chains over that expected, worst feature; below 10 is fine
    effective_size: float | None = None  # independent sets the chains are worth, worst feature; None: infinite
    bound: Bound | None = None

    def messages(self) -> list[str]:
        """Warnings for readers who are not specialists; empty if all is well."""
        found = self._chain_messages() if self.bound is None else self._bound_messages(self.bound)
        if self.expected_size < HARDLY_ANY:
            found.append(
                "The data barely support any feature: sets have fewer than 0.5 features on average. Do not read much "
                "into any selection."
            )
        return found

    def _chain_messages(self) -> list[str]:
        if self.converged or self.largest_error is None:
            return []
        return [
            f"Some probabilities are uncertain by up to {2 * self.largest_error:.2g} (two Monte Carlo "
            f"errors of {self.largest_error:.2g}; {self.tol:g} was asked for): the chains were stopped "
            "before they agreed. Allow more laps (max_iter), or read the probabilities with their "
            "errors.",
        ]

    def _bound_messages(self, bound: Bound) -> list[str]:
        found: list[str] = []
        if not self.converged:
            found.append("The fit had not settled when it stopped: allow more iterations (max_iter).")
        if bound.pareto_k > RELIABLE:
            found.append(
                "Inclusion probabilities are rough: the true posterior has heavier tails than the fit "
                f"(Pareto k {bound.pareto_k:.2f}, above 0.7). Read them as high, middling or low; "
                'solver="chain" gives those of the posterior itself.'
            )
        if bound.condition_probability < UNUSUAL:
            found.append(
                f"Only {bound.condition_probability:.2g} of the fitted distribution meets these conditions, and the "
                "fit is accurate only where the posterior has mass: the probability of a feature that would replace "
                'an excluded one may be far too low. solver="chain" computes it from the data instead.'
            )
        if bound.overlooked > OVERLOOKED:
            found.append(
                f"Some set is about as good as the best one, yet {_times(bound.overlooked)} rarer in the fitted "
                "distribution than it should be: features that can replace each other, such as copies, do not share "
                "their probability, and one with a low probability may be as good as a chosen one. Look at the "
                "alternatives before you discard it."
                f"{' A DPP posterior lets them share it.' if bound.independent else ''}"
            )
        return found


def _times(log_ratio: float) -> str:
    """A ratio as text.

    >>> _times(np.log(8390.0)), _times(np.inf)
    ('8,390 times', 'more than a million times')
    """
    return "more than a million times" if log_ratio > np.log(1e6) else f"{np.exp(log_ratio):,.0f} times"
