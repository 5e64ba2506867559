"""What a fit returns: the posterior over feature sets."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from .diagnostics import RELIABLE, Diagnostics
from .dpp import IndependentSets, SetDistribution
from .dpp.sets import IntArray, as_count, as_size
from .inference import Fit, Target
from .inference.exchange import exchange
from .inference.importance import ImportanceWeights, smooth
from .inference.local_search import NOTHING, grow, polish, swaps
from .naming import find_positions
from .predictions import PredictiveMixture, average_predictions
from .threads import one_blas_thread

Float64Array = npt.NDArray[np.float64]
Features = npt.ArrayLike

AVERAGED = 100  # sets in an averaged prediction
CHECKED = 400  # sets behind the diagnostics of a conditioned posterior
EXCHANGES = 16  # rounds of the correction
AS_GOOD = np.log(0.1)  # a set with a tenth of the probability of the best one counts as a rival of it


class Alternative(NamedTuple):
    """A good set that differs from the better ones before it.

    >>> best = Alternative(np.array(["x1"]), np.array([1]), -40.0, -42.0, -0.1, 1.0)
    >>> best.features.tolist(), best.odds
    (['x1'], 1.0)
    """

    features: npt.NDArray[Any]  # names where there are names, positions otherwise
    positions: IntArray
    log_evidence: float  # how well it explains y
    log_joint: float  # with the prior: what sets are ranked by
    log_prob: float  # under q
    odds: float  # posterior odds against the best set


@dataclass(frozen=True, eq=False)
class Posterior:
    """The fitted posterior over sets of features.

    Sets are sorted arrays of column positions; features may be given by name or position. `condition` returns another
    Posterior over the same columns, in which some are in every set and some in none.

    Parameters
    ----------
    fit : Fit
        What the solver found.
    names : array (M,), optional
        Names of the columns, strings. Several columns may share a name; they are then addressed by position.

    >>> import variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> target = vg.Target(vg.Gaussian(X, y), vg.dpp_prior(vg.similarity.from_columns(X), expected_size=1))
    >>> posterior = Posterior(vg.fit(target, rng), names=np.array(["a", "b", "c", "d"]))
    >>> posterior.map(), posterior.inclusion_prob().shape
    (array([1]), (4,))
    >>> posterior.condition(exclude=["b"]).inclusion_prob()[1]
    np.float64(0.0)
    """

    fit: Fit = field(repr=False)
    names: npt.NDArray[Any] | None = field(default=None, repr=False)
    included: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    excluded: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.names is not None and np.shape(self.names) != (self.n_features,):
            raise ValueError(f"names must hold {self.n_features} names, one per column, got {np.shape(self.names)}.")
        strange = [] if self.names is None else [x for x in np.asarray(self.names).tolist() if not isinstance(x, str)]
        if strange:
            raise ValueError(
                f"names must be strings, got {strange[0]!r}: a number could be a position as well. "
                "Hand in names.astype(str)."
            )

    @property
    def target(self) -> Target:
        """The model: likelihood and prior with their learned hyperparameters."""
        return self.fit.target

    @property
    def n_features(self) -> int:
        """M."""
        return self.fit.target.n_features

    @cached_property
    def q(self) -> SetDistribution:
        """The approximation over the features that are still open; its `items` are column positions."""
        if not len(self.included) and not len(self.excluded):
            return self.fit.q
        return self.fit.q.condition(include=self.included, exclude=self.excluded)

    @property
    def _open_size(self) -> int | None:
        return None if self.target.size is None else self.target.size - len(self.included)

    def _settled(self) -> IntArray:
        return np.union1d(self.included, self.excluded)

    def _whole(self, S: IntArray) -> IntArray:
        """Positions among all columns of a set of open features, with the included ones."""
        return np.sort(np.concatenate([self.q.items[S], self.included])).astype(np.int64)

    def positions(self, features: Features, name: str = "features") -> IntArray:
        """Column positions of features given by name, by position or as a mask."""
        return find_positions(features, self.names, self.n_features, name)

    def _labels(self, S: IntArray) -> npt.NDArray[Any]:
        return S if self.names is None else np.asarray(self.names)[S]

    # --- probabilities ----------------------------------------------------------------------------------------

    def inclusion_prob(self, *, corrected: bool = False) -> Float64Array:
        """P(feature in set) for every column, shape (M,).

        `corrected` goes from sets of q towards sets of the posterior, see `corrected_sets`, and averages the
        conditional probabilities under the target: closer to the true posterior, at the cost of Monte Carlo noise.
        Needs flip gains of the likelihood; O(M|S|²) a set and round.
        """
        if corrected:
            return self._corrected_inclusion()
        found = np.zeros(self.n_features)
        k = self._open_size
        found[self.q.items] = self.q.inclusion_prob() if k is None else self.q.inclusion_prob_fixed_size(k)
        found[self.included] = 1.0
        return found

    @one_blas_thread
    def _corrected_inclusion(self) -> Float64Array:
        sets, weights = self.corrected_sets
        if self.target.size is None and self.target.has_gains and self.target.exact_gains:
            average = weights @ expit(self.target.log_odds(self.target.evaluate(sets)))
        else:  # conditionals are approximate, or do not keep the size
            average = np.zeros(self.n_features)
            for S, weight in zip(sets, weights, strict=True):
                average[S] += weight
        average[self.included], average[self.excluded] = 1.0, 0.0
        return np.asarray(average)

    @property
    def condition_probability(self) -> float:
        """The share of q, before `condition`, whose sets meet the conditions."""
        before, A, k = self.fit.q, self.included, self._open_size
        log_weight = before.log_prob(A) + before.log_normalizer  # θ(A) + log ν(A)
        if k is None:
            return float(np.exp(min(log_weight + self.q.log_normalizer - before.log_normalizer, 0.0)))
        after, all_of_them = self.q.log_normalizer_fixed_size(k), before.log_normalizer_fixed_size(k + len(A))
        return float(np.exp(min(log_weight + after - all_of_them, 0.0)))

    def log_prob(self, S: Features) -> float:
        """Log q(S); −inf for sets that the conditions rule out."""
        whole = self.positions(S, "S")
        rest = np.setdiff1d(whole, self.included)
        if len(rest) + len(self.included) != len(whole) or np.isin(rest, self.excluded).any():
            return -np.inf
        inside = np.flatnonzero(np.isin(self.q.items, rest))
        k = self._open_size
        if k is None:
            return self.q.log_prob(inside)
        if len(inside) != k:
            return -np.inf
        return self.q.log_prob(inside) + self.q.log_normalizer - self.q.log_normalizer_fixed_size(k)

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> list[IntArray]:
        """N sets from q, each a sorted array of column positions."""
        rng, k = np.random.default_rng(rng), self._open_size
        sets = self.q.sample(n, rng) if k is None else self.q.sample_fixed_size(k, n, rng)
        return [self._whole(S) for S in sets]

    def condition(self, include: Features = (), exclude: Features = ()) -> Self:
        """The posterior given that some features are in the set and some are not.

        It is q under these conditions. q was fitted to the likely sets, so where they are unlikely (see
        `condition_probability`; `diagnostics` says so below 0.05) prefer inclusion_prob(corrected=True).
        """
        included = np.union1d(self.included, self.positions(include, "include"))
        excluded = np.union1d(self.excluded, self.positions(exclude, "exclude"))
        both = np.intersect1d(included, excluded)
        if len(both):
            raise ValueError(f"Feature {self._labels(both).tolist()[0]!r} cannot be both included and excluded.")
        if self.target.size is not None and len(included) > self.target.size:
            raise ValueError(f"Sets have {self.target.size} features; {len(included)} cannot be included.")
        given = replace(self, included=included, excluded=excluded)
        needed, possible = given._open_size, given.q.rank if self.target.size is not None else 0
        if needed is not None and needed > possible:
            raise ValueError(
                f"Sets have {self.target.size} features; with {len(included)} included and {len(excluded)} excluded, "
                f"{needed} more are needed, and at most {possible} of the others fit in together. Exclude fewer."
            )
        return given

    # --- sets -------------------------------------------------------------------------------------------------

    @one_blas_thread
    def map(self, size: int | None = None, *, polished: bool = True) -> IntArray:
        """The best set, of the given size if one is given: q's own, then exchanged on the target itself.

        q prefers near-copies once its free optimum is exhausted; the target, log p(y|S) + log p(S), does not. The best
        of the sets that were drawn is exchanged too, and one that grew feature by feature: q's own may be stuck.
        """
        size = self.target.size if size is None else as_size(size, self.n_features, "the number of features")
        if size is not None and size < len(self.included):
            raise ValueError(f"The size must be at least {len(self.included)}, the number included, got {size}.")
        S = self._whole(self.q.map(None if size is None else size - len(self.included)))
        if not polished or not self.target.has_gains:
            return S
        grown = grow(self.target, size, self.included, self.excluded)
        if size is not None and len(grown) < size:  # copies of its members are all that is left
            grown = S
        starts = {T.tobytes(): T for T in [S, grown, *self._best_drawn(size)]}.values()
        ends = [polish(self.target, T, keep_size=size is not None, settled=self._settled()) for T in starts]
        return max(ends, key=self.target.log_joint)

    def _best_drawn(self, size: int | None) -> list[IntArray]:
        """The best set of the fit's draws that keeps to the conditions and the size; none where there is none."""
        whole = replace(self, included=NOTHING, excluded=NOTHING)
        values = {
            S.tobytes(): (ratio + whole.log_prob(S), S)
            for S, ratio in zip(self.fit.sets, self.fit.log_ratios, strict=True)
            if (size is None or len(S) == size)
            and np.isin(self.included, S).all()
            and not np.isin(self.excluded, S).any()
        }
        return [max(values.values(), key=lambda pair: pair[0])[1]] if values else []

    @one_blas_thread
    def alternatives(self, n: int = 5, *, size: int | None = None, different: float = 0.2) -> list[Alternative]:
        """Good sets that differ from each other, best first.

        Candidates are the best set, what is best without each of its members, and sets drawn from q. Each set shares
        at most 1 − `different` of its features with the better ones (Jaccard).
        """
        size = self.target.size if size is None else size
        n, best = as_count(n), self.map(size)
        candidates = {S.tobytes(): S for S in [best, *self._candidates(best, size)]}
        ranked = sorted(((self.target.log_joint(S), S) for S in candidates.values()), key=lambda pair: -pair[0])
        chosen: list[Alternative] = []
        for value, S in ranked:
            if len(chosen) == n:
                break
            if all(jaccard_distance(S, other.positions) >= different for other in chosen):
                odds = float(np.exp(value - (chosen[0].log_joint if chosen else value)))
                evidence = self.target.log_evidence(S)
                chosen.append(Alternative(self._labels(S), S, evidence, value, self.log_prob(S), odds))
        return chosen

    def _candidates(self, best: IntArray, size: int | None) -> list[IntArray]:
        drawn = list({S.tobytes(): S for S in self._draws[0]}.values())
        if not self.target.has_gains:
            return [S for S in drawn if size is None or len(S) == size]
        replaced = [S for _, S in swaps(self.target, best, self._settled())]
        if size == self.target.size:
            return [*replaced, *drawn]
        # without the member that was replaced, what is the best set of this size?
        gone = [np.setdiff1d(best, S) for S in replaced]
        return [
            polish(self.target, S, keep_size=True, settled=np.union1d(self._settled(), out))
            for S, out in zip(replaced, gone, strict=True)
        ]

    # --- predictions ------------------------------------------------------------------------------------------

    @one_blas_thread
    def predict(self, X: npt.ArrayLike, *, covariates: Any = None, corrected: bool = False) -> PredictiveMixture:
        """The predictive law of new rows X (n, M), averaged over sets from q, or over `corrected_sets`."""
        drawn = self._draws[0][:AVERAGED]
        sets, weights = self.corrected_sets if corrected else (drawn, np.full(len(drawn), 1 / len(drawn)))
        return average_predictions(self.target.likelihood, sets, weights, X, covariates)

    # --- trust ------------------------------------------------------------------------------------------------

    @cached_property
    def _draws(self) -> tuple[list[IntArray], Float64Array]:
        """Sets from q and log p(y, S) − log q(S)."""
        if not len(self.included) and not len(self.excluded):
            return self.fit.sets, self.fit.log_ratios
        sets = self.sample(CHECKED, 0)
        return sets, np.array([self.target.log_joint(S) - self.log_prob(S) for S in sets])

    @cached_property
    def importance(self) -> ImportanceWeights:
        """Smoothed importance weights target/q of sets from q."""
        return smooth(self._draws[1])

    @cached_property
    def corrected_sets(self) -> tuple[list[IntArray], Float64Array]:
        """Sets closer to the posterior's than those of q, and their weights (n,), summing to one.

        The sets of q, weighted by target/q where these weights can be relied on (k̂ up to 0.7) and alike where not,
        after rounds of exchanging one member at random by the target's own probabilities. Both lead to the posterior:
        the weights with ever more sets, the exchanges with ever more rounds.
        """
        sets, weights = self._draws[0], self.importance.weights
        if not self.target.has_gains:
            return sets, weights
        if self.importance.pareto_k > RELIABLE:
            weights = np.full(len(sets), 1 / len(sets))
        rng = np.random.default_rng(0)
        for _ in range(EXCHANGES):
            sets = exchange(self.target, sets, rng, self._settled())
        return sets, weights

    @one_blas_thread
    def diagnostics(self) -> Diagnostics:
        """ELBO with its error, Pareto k̂ and effective size of the importance weights, and what was learned."""
        ratios = self._draws[1]
        return Diagnostics(
            elbo=float(ratios.mean()),
            elbo_error=float(ratios.std() / np.sqrt(len(ratios))),
            converged=self.fit.converged,
            n_iter=self.fit.n_iter,
            pareto_k=self.importance.pareto_k,
            effective_size=self.importance.effective_size,
            n_sets=len(ratios),
            expected_size=float(self.inclusion_prob().sum()),
            prior_expected_size=float(self.target.size or self.target.prior.expected_size),
            slab_precision=getattr(self.target.likelihood, "slab_precision", None),
            independent=isinstance(self.q, IndependentSets),
            condition_probability=self.condition_probability,
            overlooked=self._overlooked(),
        )

    def _overlooked(self) -> float:
        """How much rarer, in logs, q makes the best set, or a rival with one member exchanged, than the target does.

        Importance weights know only sets that q draws. Of two copies mean field chooses one, and never looks again.
        """
        if not self.target.has_gains:
            return 0.0
        best = self.map()
        value, log_q = self.target.log_joint(best), self.log_prob(best)
        if log_q == -np.inf:
            return np.inf
        rivals = [T for _, T in swaps(self.target, best, self._settled())]
        odds = [(self.target.log_joint(T) - value, self.log_prob(T) - log_q) for T in rivals]
        itself = value - float(self._draws[1].mean())  # all of q on the best set would have at least its ELBO
        return float(max([0.0, itself, *(p - q for p, q in odds if p > AS_GOOD)]))


def jaccard_distance(S: IntArray, T: IntArray) -> float:
    """1 − |S ∩ T| / |S ∪ T|; zero for two empty sets.

    >>> jaccard_distance(np.array([0, 1]), np.array([1, 2]))  # doctest: +ELLIPSIS
    0.666...
    """
    union = len(np.union1d(S, T))
    return 1.0 - len(np.intersect1d(S, T)) / union if union else 0.0
