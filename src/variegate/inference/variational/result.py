"""What a variational solver found, and q under conditions."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from ...dpp import SetDistribution
from ...dpp.sets import IntArray
from ..local_search import NOTHING
from ..target import Float64Array, Target

CHECKED = 400  # sets behind the diagnostics of a conditioned q


@dataclass(frozen=True, eq=False)
class Fit:
    """What a solver found: q, the target with its learned hyperparameters, and how it went.

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

    q: SetDistribution  # over the features that are still open
    target: Target
    elbo: float
    elbo_error: float
    elbo_trace: Float64Array
    converged: bool
    interrupted: bool
    sets: list[IntArray] = field(repr=False)  # drawn from q
    log_ratios: Float64Array = field(repr=False)  # log p(y, S) − log q(S) of these sets
    included: IntArray = field(default_factory=lambda: NOTHING)
    excluded: IntArray = field(default_factory=lambda: NOTHING)
    condition_probability: float = 1.0  # share of q's sets that met the conditions

    @property
    def n_iter(self) -> int:
        """Iterations that led to q, all stages together."""
        return len(self.elbo_trace)

    @property
    def weights(self) -> Float64Array:
        """Weights of the sets (n,)."""
        return np.full(len(self.sets), 1 / len(self.sets))

    @property
    def slab_precisions(self) -> Float64Array:
        """The slab precision of each set (n,): the one that was learned."""
        return np.full(len(self.sets), getattr(self.target.likelihood, "slab_precision", np.nan))

    @property
    def _open_size(self) -> int | None:
        return None if self.target.size is None else self.target.size - len(self.included)

    @cached_property
    def inclusion(self) -> Float64Array:
        """P(feature in set) under q (M,)."""
        found, k = np.zeros(self.target.n_features), self._open_size
        found[self.q.items] = self.q.inclusion_prob() if k is None else self.q.inclusion_prob_fixed_size(k)
        found[self.included] = 1.0
        return found

    @property
    def inclusion_errors(self) -> Float64Array:
        """NaN (M,): how far q is from the posterior is not known."""
        return np.full(self.target.n_features, np.nan)

    def draw(self, n: int, rng: np.random.Generator) -> list[IntArray]:
        """Draw n sets from q."""
        k = self._open_size
        sets = self.q.sample(n, rng) if k is None else self.q.sample_fixed_size(k, n, rng)
        return [np.sort(np.concatenate([self.q.items[S], self.included])).astype(np.int64) for S in sets]

    def log_prob(self, S: IntArray) -> float:
        """Log q(S); −inf for sets that the conditions rule out."""
        rest = np.setdiff1d(S, self.included)
        if len(rest) + len(self.included) != len(S) or np.isin(rest, self.excluded).any():
            return -np.inf
        inside, k = np.flatnonzero(np.isin(self.q.items, rest)), self._open_size
        if k is None:
            return self.q.log_prob(inside)
        if len(inside) != k:
            return -np.inf
        return self.q.log_prob(inside) + self.q.log_normalizer - self.q.log_normalizer_fixed_size(k)

    def given(self, included: IntArray, excluded: IntArray) -> Self:
        """Q under conditions. It was fitted to the likely sets: where these are unlikely it may be far off."""
        new = np.searchsorted(self.q.items, np.setdiff1d(included, self.included))
        out = np.searchsorted(self.q.items, np.setdiff1d(excluded, self.excluded))
        q = self.q.condition(include=new, exclude=out)
        share = float(np.exp(min(self._log_condition(new, q), 0.0)))
        found = replace(
            self, q=q, included=included, excluded=excluded, sets=[], log_ratios=np.empty(0),
            condition_probability=self.condition_probability * share,
        )  # fmt: skip
        needed = found._open_size
        if needed is not None and needed > q.rank:
            raise ValueError(
                f"Sets have {self.target.size} features; with {len(included)} included and {len(excluded)} excluded, "
                f"{needed} more are needed, and at most {q.rank} of the others fit in together. Exclude fewer."
            )
        sets = found.draw(CHECKED, np.random.default_rng(0))
        ratios = np.array([self.target.log_joint(S) - found.log_prob(S) for S in sets])
        error = float(ratios.std() / np.sqrt(len(ratios)))
        return replace(found, sets=sets, log_ratios=ratios, elbo=float(ratios.mean()), elbo_error=error)

    def _log_condition(self, new: IntArray, after: SetDistribution) -> float:
        """Log probability that a set of q meets further conditions: it contains `new`, and the rest is as `after`."""
        before, k = self.q, self._open_size
        log_weight = before.log_prob(new) + before.log_normalizer  # θ(A) + log ν(A)
        if k is None:
            return log_weight + after.log_normalizer - before.log_normalizer
        if k - len(new) > after.rank:
            return -np.inf
        return log_weight + after.log_normalizer_fixed_size(k - len(new)) - before.log_normalizer_fixed_size(k)
