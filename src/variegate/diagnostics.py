"""How a fit went, in numbers and in messages."""

from typing import NamedTuple

HARDLY_ANY = 0.5  # expected size below which the data support no feature


class Diagnostics(NamedTuple):
    """How the fit went, and how accurate its probabilities are.

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
    n_iter: int  # laps of the chains
    expected_size: float
    prior_expected_size: float
    slab_precision: float | None
    n_sets: int
    largest_error: float  # Monte Carlo error of the least certain probability
    tol: float  # the requested error
    disagreement: float  # variance between chains over that expected, worst feature; below 10 is fine
    effective_size: float | None = None  # independent sets the chains are worth, worst feature; None: infinite

    def messages(self) -> list[str]:
        """Warnings for readers who are not specialists; empty if all is well."""
        found: list[str] = []
        if not self.converged:
            found.append(
                f"Some probabilities are uncertain by up to {2 * self.largest_error:.2g} (two Monte Carlo errors of "
                f"{self.largest_error:.2g}; {self.tol:g} was asked for): the chains were stopped before they agreed. "
                "Allow more laps (max_iter), or read the probabilities with their errors."
            )
        if self.expected_size < HARDLY_ANY:
            found.append(
                "The data barely support any feature: sets have fewer than 0.5 features on average. Do not read much "
                "into any selection."
            )
        return found
