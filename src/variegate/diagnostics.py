"""How a fit went, in numbers and in words."""

from typing import NamedTuple

import numpy as np

from .messages import Argument, Message

RELIABLE = 0.7  # importance weights with a larger k̂ are not
OVERLOOKED = np.log(20.0)  # q overlooks a rival of the best set if it makes it this much rarer than the target does
UNUSUAL = 0.05  # conditions that fewer sets of q meet are about sets that the fit hardly looked at
HARDLY_ANY = 0.5  # expected size below which the data support no feature


class Bound(NamedTuple):
    """What is known of a variational fit.

    >>> Bound(elbo=-80.0, elbo_error=0.01, pareto_k=0.3, effective_size=350.0, n_sets=400).pareto_k
    0.3
    """

    elbo: float
    elbo_error: float
    pareto_k: float
    effective_size: float  # of `n_sets` importance-weighted sets
    n_sets: int
    independent: bool = False  # q takes the features as independent: posterior="bernoulli"
    condition_probability: float = 1.0  # share of q's sets that meet the conditions of `condition`
    overlooked: float = 0.0  # nats by which q underrates a rival of the best set; importance weights cannot see it


class Diagnostics(NamedTuple):
    """How the fit went, and how far its probabilities can be trusted.

    `bound` is None for exact chains, whose probabilities have a Monte Carlo error and no other.

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
    tol: float | None = None  # what was asked for
    disagreement: float | None = None  # variance between chains over the one expected, for the worst feature: 1 to 10
    effective_size: float | None = None  # independent sets that the chains are worth, for the worst feature; None: all
    bound: Bound | None = None

    def messages(self) -> list[str]:
        """What a reader who is no specialist should know; empty if all is well."""
        found = self._chain_messages() if self.bound is None else self._bound_messages(self.bound)
        if self.expected_size < HARDLY_ANY:
            found.append(
                "The data hardly support any feature: fewer than one is expected in a set. Do not read much into any "
                "selection from them."
            )
        return found

    def _chain_messages(self) -> list[str]:
        if self.converged or self.largest_error is None:
            return []
        return [
            Message(
                f"Some probabilities are uncertain by up to {2 * self.largest_error:.2g} (two Monte Carlo errors of "
                f"{self.largest_error:.2g}; {self.tol:g} was asked for): the chains were stopped before they agreed. "
                "Allow more laps (",
                Argument("max_iter"),
                "), or read the probabilities with their errors.",
            )
        ]

    def _bound_messages(self, bound: Bound) -> list[str]:
        found: list[str] = []
        if not self.converged:
            found.append(
                Message("The fit had not settled when it stopped: allow more iterations (", Argument("max_iter"), ").")
            )
        if bound.pareto_k > RELIABLE:
            found.append(
                "Inclusion probabilities are rough: the true posterior has heavier tails than the fit "
                f"(Pareto k {bound.pareto_k:.2f}, above 0.7). Read them as high, middling or low; "
                'solver="chain" gives those of the posterior itself.'
            )
        if bound.condition_probability < UNUSUAL:
            found.append(
                f"Only {bound.condition_probability:.2g} of the fitted distribution meets these conditions, and the "
                "fit is accurate only where the posterior has mass: the probability of a feature that would stand in "
                'for an excluded one may be far too low. solver="chain" asks the data instead.'
            )
        if bound.overlooked > OVERLOOKED:
            found.append(
                f"Some set is about as good as the best one, yet {_times(bound.overlooked)} rarer in the fitted "
                "distribution than it should be: features that can stand in for each other, copies perhaps, do not "
                "share their probability, and a low one may be as good as a chosen one. Look at the alternatives "
                f"before you discard it.{' A DPP posterior lets them share it.' if bound.independent else ''}"
            )
        return found


def _times(log_ratio: float) -> str:
    """A ratio in words.

    >>> _times(np.log(8390.0)), _times(np.inf)
    ('8,390 times', 'more than a million times')
    """
    return "more than a million times" if log_ratio > np.log(1e6) else f"{np.exp(log_ratio):,.0f} times"
