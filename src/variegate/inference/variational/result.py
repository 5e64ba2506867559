"""The result of a variational fit, and q under conditions."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from ...dpp import SetDistribution, SetLaw, of_size
from ...sets import NOTHING
from ...types import FloatArray, IntArray
from ..target import Target
from . import tuning


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a variational fit: q, the target with learned hyperparameters, and how the fit went.

    >>> from variegate.inference import Target, fit
    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> found = fit(Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), family="bernoulli"), rng)
    >>> found.converged, found.q.n_items, len(found.sets) == len(found.log_ratios)
    (True, 4, True)
    """

    q: SetDistribution  # over the features that are neither included nor excluded
    target: Target
    elbo: float
    elbo_error: float
    elbo_trace: FloatArray
    converged: bool
    interrupted: bool
    sets: list[IntArray] = field(repr=False)  # drawn from q
    log_ratios: FloatArray = field(repr=False)  # log p(y, S) − log q(S) of these sets
    included: IntArray = field(default_factory=lambda: NOTHING)
    excluded: IntArray = field(default_factory=lambda: NOTHING)
    condition_probability: float = 1.0  # probability under q that a set meets the conditions

    @property
    def n_iter(self) -> int:
        """Number of iterations that led to q, in all stages."""
        return len(self.elbo_trace)

    @property
    def weights(self) -> FloatArray:
        """Weights of the sets (n,)."""
        return np.full(len(self.sets), 1 / len(self.sets))

    @property
    def nuisances(self) -> FloatArray:
        """NaN for each set (n,): it has the likelihood's own."""
        return np.full(len(self.sets), np.nan)

    @property
    def slab_precisions(self) -> FloatArray:
        """Slab precision of each set (n,): the learned one."""
        return np.full(len(self.sets), self.target.slab_precision or np.nan)

    @cached_property
    def law(self) -> SetLaw:
        """q, or q given the fixed size, over the features that are neither included nor excluded."""
        return of_size(self.q, None if self.target.size is None else self.target.size - len(self.included))

    @cached_property
    def inclusion(self) -> FloatArray:
        """P(feature in set) under q (M,)."""
        found = np.zeros(self.target.n_features)
        found[self.q.items] = self.law.inclusion_prob()
        found[self.included] = 1.0
        return found

    @property
    def q_difference(self) -> float:
        """Zero: the inclusion probabilities are those of q."""
        return 0.0

    @property
    def inclusion_errors(self) -> FloatArray:
        """NaN (M,): the distance of q from the posterior is unknown."""
        return np.full(self.target.n_features, np.nan)

    def draw(self, n: int, rng: np.random.Generator) -> list[IntArray]:
        """Draw n sets from q."""
        sets = self.law.sample(n, rng)
        return [np.sort(np.concatenate([self.q.items[S], self.included])).astype(np.int64) for S in sets]

    def log_prob(self, S: IntArray) -> float:
        """log q(S); −inf for sets that do not meet the conditions."""
        rest = np.setdiff1d(S, self.included)
        if len(rest) + len(self.included) != len(S) or np.isin(rest, self.excluded).any():
            return -np.inf
        return self.law.log_prob(np.flatnonzero(np.isin(self.q.items, rest)))

    def given(self, included: IntArray, excluded: IntArray) -> Self:
        """q under conditions; since q was fitted to likely sets, it may be far off under unlikely conditions."""
        new = np.searchsorted(self.q.items, np.setdiff1d(included, self.included))
        out = np.searchsorted(self.q.items, np.setdiff1d(excluded, self.excluded))
        q, size = self.q.condition(include=new, exclude=out), self.target.size
        if size is not None and size - len(included) > q.rank:
            raise ValueError(
                f"Sets have {size} features; with {len(included)} included and {len(excluded)} excluded, "
                f"{size - len(included)} more are needed, and at most {q.rank} of the others can be in one set. "
                "Exclude fewer."
            )
        found = replace(self, q=q, included=included, excluded=excluded, sets=[], log_ratios=np.empty(0))
        # P(A ⊆ S, the rest as after) = e^{θ(A)} ν(A) Z_after / Z_before
        log_share = self.q.log_prob(new) + self.q.log_normalizer + found.law.log_normalizer - self.law.log_normalizer
        share = self.condition_probability * float(np.exp(min(log_share, 0.0)))
        sets = found.draw(tuning.FINAL_SETS, np.random.default_rng(0))
        ratios = np.array([self.target.log_joint(S) - found.log_prob(S) for S in sets])
        error = float(ratios.std() / np.sqrt(len(ratios)))
        return replace(
            found, sets=sets, log_ratios=ratios, elbo=float(ratios.mean()), elbo_error=error,
            condition_probability=share,
        )  # fmt: skip
