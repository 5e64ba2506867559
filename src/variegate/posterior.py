"""The result of a fit: the posterior over feature sets."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from .candidates import ALWAYS, LEFT_OUT, Candidates
from .diagnostics import Diagnostics
from .dpp import IndependentSets, LowRankDPP, SetDistribution
from .groups import Group, groups_of, numbered
from .inference import Sample, Target, climb, grow, polish, resize
from .naming import column_labels, find_positions
from .predictions import Component, PredictiveMixture, average_predictions
from .sets import as_count, as_size, jaccard_distance
from .threads import one_blas_thread
from .types import FloatArray, IntArray

Features = npt.ArrayLike

AVERAGED = 200  # sets in an averaged prediction
STARTS = 3  # sampled sets from which the search for the most probable set starts, besides one grown feature by feature
RANKED = 200  # sampled sets that are ranked by their probability; a tenth of that if gains are approximate


class Alternative(NamedTuple):
    """A good set that differs from the better ones before it.

    >>> best = Alternative(np.array(["x1"]), np.array([1]), -40.0, -42.0, -0.1, 1.0)
    >>> best.features.tolist(), best.odds
    (['x1'], 1.0)
    """

    features: npt.NDArray[Any]  # names, or positions if there are none
    positions: IntArray  # as in `Posterior.sets`
    log_evidence: float  # how well it explains y
    log_joint: float  # with the prior: what sets are ranked by
    log_prob: float  # log of the fraction of sampled sets equal to this one
    odds: float  # posterior odds against the most probable set, at the geometric means of the hyperparameters


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior over sets of features.

    Sets are sorted arrays of column positions; features may be given by name or position. `condition` returns another
    Posterior over the same columns, in which some are in every set and some in none.

    The M columns are those of the likelihood, each a feature. The posterior of an estimator is over features that are
    columns of X or blocks of columns that enter together, without columns that are constant, screened out or always
    included. It speaks of columns of X all the same: positions are columns of X and arrays have an entry for each; a
    column stands for its block, and sets have all columns of a block and those always included. Only `labels`, `fit`,
    `target` and `components` are about features.

    Parameters
    ----------
    fit : Sample
        The result of the chains.
    names : array (M,), optional
        Names of the columns, strings. Several columns may share a name; they are then addressed by position.
    candidates : Candidates, optional
        Which columns of X the U features are; by default feature 0 is column 0 and so on. Set by estimators.
    feature_names : array (U,), optional
        Names of the features, with `candidates`.

    >>> import variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> target = vg.Target(vg.Gaussian(X, y), vg.dpp_prior(vg.similarity.from_columns(X), expected_size=1))
    >>> posterior = Posterior(vg.sample(target, rng), names=np.array(["a", "b", "c", "d"]))
    >>> posterior.map(), posterior.inclusion_prob().shape
    (array([1]), (4,))
    >>> posterior.condition(exclude=["b"]).inclusion_prob()[1]
    np.float64(0.0)
    """

    fit: Sample = field(repr=False)
    names: npt.NDArray[Any] | None = field(default=None, repr=False)
    candidates: Candidates | None = field(default=None, repr=False)
    feature_names: npt.NDArray[Any] | None = field(default=None, repr=False)
    _known_good: dict[int | None, list[IntArray]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.names is not None and np.shape(self.names) != (self.n_columns,):
            raise ValueError(f"names must hold {self.n_columns} names, one per column, got {np.shape(self.names)}.")
        strange = [] if self.names is None else [x for x in np.asarray(self.names).tolist() if not isinstance(x, str)]
        if strange:
            raise ValueError(
                f"names must be strings, got {strange[0]!r} (numbers are positions); pass names.astype(str)."
            )

    @property
    def target(self) -> Target:
        """The model: likelihood and prior with their learned hyperparameters."""
        return self.fit.target

    @property
    def n_features(self) -> int:
        """U, the number of features to select from."""
        return self.fit.target.n_features

    @property
    def n_columns(self) -> int:
        """M, the number of columns that positions refer to."""
        return self.n_features if self.candidates is None else self.candidates.n_columns

    @cached_property
    def q(self) -> SetDistribution:
        """The member of the family over features neither included nor excluded; its `items` are column positions.

        The item of a block is its first column.
        It has the inclusion probabilities of the chains to within `q_difference`.
        """
        q = self.fit.q
        if self.candidates is None:
            return q
        items = self.candidates.first_columns[q.items]
        return LowRankDPP(q.rows, q.theta, items) if isinstance(q, LowRankDPP) else IndependentSets(q.theta, items)

    @property
    def q_difference(self) -> float:
        """Largest difference between the inclusion probabilities of q and of the posterior.

        It is large where no member of the family has these probabilities, such as 0.9 for each of two copies.
        """
        return self.fit.q_difference

    @property
    def included(self) -> IntArray:
        """Columns that are in every set."""
        return self._columns(self.fit.included)

    @property
    def excluded(self) -> IntArray:
        """Columns that are in no set."""
        if self.candidates is None:
            return self.fit.excluded
        return np.flatnonzero(np.isin(self.candidates.places, [LEFT_OUT, *self.fit.excluded]))

    @cached_property
    def sets(self) -> list[IntArray]:
        """Sets of the posterior, each a sorted array of column positions."""
        return [self._columns(S) for S in self.fit.sets]

    @property
    def weights(self) -> FloatArray:
        """Weights of `sets` (n,), summing to one."""
        return self.fit.weights

    def _settled(self) -> IntArray:
        return np.union1d(self.fit.included, self.fit.excluded)

    @property
    def labels(self) -> npt.NDArray[Any]:
        """Names of the features (U,), or their positions if there are none."""
        names = self.names if self.candidates is None else self.feature_names
        return np.arange(self.n_features) if names is None else np.asarray(names)

    # --- features and columns ---------------------------------------------------------------------------------

    def of_columns(self, candidates: Candidates, names: npt.NDArray[Any]) -> Self:
        """The same posterior in terms of the columns of X, called `names` (M,), that the features are."""
        return replace(self, candidates=candidates, names=names, feature_names=self.labels)

    def _columns(self, S: IntArray) -> IntArray:
        """The columns of a set of features."""
        return S if self.candidates is None else self.candidates.columns_of(S)

    def _given(self, features: Features, name: str) -> IntArray:
        """Columns given by name, by position or as a mask."""
        if self.candidates is None:
            return find_positions(features, self.names, self.n_features, name)
        labels = [*self.labels.tolist(), None, None]  # of a block; LEFT_OUT and ALWAYS are the last two
        of_columns = [labels[place] for place in self.candidates.places.tolist()]
        return find_positions(features, self.names, self.n_columns, name, of_columns)

    def features(self, given: Features, name: str, refused: int = LEFT_OUT) -> IntArray:
        """Positions of the features of columns; columns always included, or left out, are dropped or refused."""
        columns = self._given(given, name)
        if self.candidates is None:
            return columns
        places = self.candidates.places[columns]
        wrong = columns[places == refused]
        if len(wrong):
            why = "is constant or was screened out" if refused == LEFT_OUT else "is always included"
            label = column_labels(self.names, self.n_columns)[wrong[0]]
            raise ValueError(f"{name} must be columns to select from, got column {wrong[0]}, {label!r}, which {why}.")
        return np.unique(places[places >= 0])

    def positions(self, features: Features, name: str = "features") -> IntArray:
        """Column positions of features given by name, by position or as a mask; all columns of a block."""
        found = self.features(features, name)
        return found if self.candidates is None else np.flatnonzero(np.isin(self.candidates.places, found))

    # --- probabilities ----------------------------------------------------------------------------------------

    def inclusion_prob(self) -> FloatArray:
        """P(column in set) for every column, shape (M,)."""
        found = self.fit.inclusion
        return found if self.candidates is None else self.candidates.spread(found, always=1.0)

    def inclusion_errors(self) -> FloatArray:
        """Monte Carlo error of each probability (M,)."""
        found = self.fit.inclusion_errors
        return found if self.candidates is None else self.candidates.spread(found)

    def log_prob(self, S: Features) -> float:
        """Log of the fraction of sampled sets equal to S; −inf if conditions rule it out."""
        if self.candidates is not None and (self.candidates.places[self._given(S, "S")] == LEFT_OUT).any():
            return -np.inf
        return self.fit.log_prob(self.features(S, "S"))

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> list[IntArray]:
        """Draw n sets, each a sorted array of column positions."""
        return [self._columns(S) for S in self.fit.draw(n, np.random.default_rng(rng))]

    def condition(self, include: Features = (), exclude: Features = ()) -> Self:
        """The posterior given that some features are in the set and some are not.

        The chains run again under these conditions, from sets sampled before.
        """
        included = np.union1d(self.fit.included, self.features(include, "include"))
        excluded = np.union1d(self.fit.excluded, self.features(exclude, "exclude", refused=ALWAYS))
        both = np.intersect1d(included, excluded)
        if len(both):
            raise ValueError(f"Feature {self.labels[both].tolist()[0]!r} cannot be both included and excluded.")
        if self.target.size is not None and len(included) > self.target.size:
            raise ValueError(f"Sets have {self.target.size} features; {len(included)} cannot be included.")
        if len(included) == len(self.fit.included) and len(excluded) == len(self.fit.excluded):
            return self
        return replace(self, fit=self.fit.given(included, excluded), _known_good={})

    # --- sets -------------------------------------------------------------------------------------------------

    @one_blas_thread
    def map(self, size: int | None = None) -> IntArray:
        """The set with the largest log p(y|S) + log p(S) that was found, of the given size if there is one.

        The search starts from the best sampled sets, grown or shrunk to the size, and from one grown feature by
        feature, and applies the best moves until none improves the set.
        """
        return self._columns(self._good_sets(self._size(size))[0])

    def _size(self, size: int | None) -> int | None:
        size = self.target.size if size is None else as_size(size, self.n_features, "the number of features")
        least = len(self.fit.included)
        if size is not None and size < least:
            raise ValueError(f"The size must be at least {least}, the number included, got {size}.")
        return size

    def _good_sets(self, size: int | None) -> list[IntArray]:
        """The most probable set and its rivals, best first: ends of the search, and each member's best exchange."""
        if size not in self._known_good:
            self._known_good[size] = self._search(size)
        return self._known_good[size]

    def _search(self, size: int | None) -> list[IntArray]:
        if not self.target.has_gains:
            fitting = [S for S in _distinct(self.fit.sets) if size is None or len(S) == size]
            return sorted(fitting, key=lambda S: -self.target.log_joint(S)) or [self._from_q(size)]
        fixed, settled = size is not None, self._settled()
        starts = [*self._best_sampled(size), grow(self.target, size, self.fit.included, self.fit.excluded)]
        starts = [T for T in starts if size is None or len(T) == size] or [self._from_q(size)]
        ends = [polish(self.target, T, keep_size=fixed, settled=settled) for T in _distinct(starts)]
        sampled = max(self._sampled(size), key=self.target.log_joint, default=ends[0])
        best = max(ends, key=self.target.log_joint)
        if self.target.log_joint(sampled) > self.target.log_joint(best):
            best = polish(self.target, sampled, keep_size=fixed, settled=settled)
        best, rivals = climb(self.target, best, keep_size=fixed, settled=settled)
        return sorted(_distinct([best, *ends, *rivals]), key=lambda S: -self.target.log_joint(S))

    def _from_q(self, size: int | None) -> IntArray:
        q, included = self.fit.q, self.fit.included
        S = q.map(None if size is None else size - len(included))
        return np.sort(np.concatenate([q.items[S], included])).astype(np.int64)

    def _sampled(self, size: int | None) -> list[IntArray]:
        """Sampled sets of the size; if each needs expectation propagation, the most frequent ones."""
        found = [S for S in _distinct(self.fit.sets) if size is None or len(S) == size]
        return found if self.target.exact_gains else sorted(found, key=lambda S: -self.fit.log_prob(S))[: RANKED // 10]

    def _best_sampled(self, size: int | None) -> list[IntArray]:
        """The best of the sampled sets and the set of probable features, grown or shrunk to the size."""
        n = RANKED if self.target.exact_gains else RANKED // 10
        fit = self.fit
        some = _distinct([fit.sets[i] for i in np.linspace(0, len(fit.sets) - 1, n).astype(int)])
        likely = np.union1d(np.setdiff1d(np.flatnonzero(fit.inclusion > 0.5), fit.excluded), fit.included)
        if self.target.log_joint(likely) > -np.inf:
            some.append(likely)
        ranked = sorted(some, key=lambda S: -self.target.log_joint(S))[:STARTS]
        if size is None:
            return ranked
        return [resize(self.target, S, size, self._settled()) for S in ranked]

    @one_blas_thread
    def alternatives(self, n: int = 5, *, size: int | None = None, different: float = 0.2) -> list[Alternative]:
        """Good sets that differ from each other, best first; the first is `map`.

        They come from the most probable set, the best exchange of each of its members, and sampled sets. Each differs
        from the better ones by a Jaccard distance of at least `different`.
        """
        n, size = as_count(n), self._size(size)
        good = [*self._good_sets(size), *self._sampled(size)]
        ranked = sorted(_distinct(good), key=lambda S: -self.target.log_joint(S))
        sets: list[IntArray] = []
        chosen: list[Alternative] = []
        for S in ranked:
            if len(chosen) == n:
                break
            if all(jaccard_distance(S, other) >= different for other in sets):
                value = self.target.log_joint(S)
                odds = float(np.exp(value - (chosen[0].log_joint if chosen else value)))
                evidence = self.target.log_evidence(S)
                sets.append(S)
                chosen.append(
                    Alternative(self.labels[S], self._columns(S), evidence, value, self.fit.log_prob(S), odds)
                )
        return chosen

    @one_blas_thread
    def groups(
        self, level: float = 0.95, *, threshold: float = 0.1, purity: float = 0.5, chosen: Features | None = None
    ) -> list[Group]:
        """Groups of features that can replace each other, the most probable first; they do not overlap.

        Near-copies share their probability, so none of them may be near 1 although P(at least one in the set) is.
        Members are alike, and each is far more probable in sets without another one than in sets with it.

        Parameters
        ----------
        level : desired probability of a group; if the features like its first one cannot reach it, the group reaches
            this fraction of what they can
        threshold : all features and groups above this probability are listed; a feature like no other is listed alone
        purity : the smallest absolute correlation, or similarity by Φ, of two members
        chosen : features that are in groups whatever their probability, each in its own; default `map()`
        """
        best = self._good_sets(self._size(None))[0] if chosen is None else self.features(chosen, "chosen")
        found = groups_of(self.fit, best, self.labels, level, threshold, purity)
        return found if self.candidates is None else numbered(found, self.candidates.first_columns)

    # --- predictions ------------------------------------------------------------------------------------------

    @cached_property
    def components(self) -> list[list[Component]]:
        """For each outcome the sets that predictions are averaged over; its likelihood has their slab precision."""
        sets = self.fit.sets
        some = np.unique(np.linspace(0, len(sets) - 1, AVERAGED).round().astype(int))
        weights = self.weights[some] / self.weights[some].sum()
        parameters = np.column_stack([self.fit.slab_precisions, self.fit.nuisances])
        targets: dict[bytes, Target] = {}
        merged: dict[tuple[bytes, bytes], tuple[IntArray, float, Target]] = {}
        for i, weight in zip(some, weights, strict=True):
            S, given = sets[i], parameters[i].tobytes()  # bytes, because NaN is not equal to itself
            if given not in targets:
                targets[given] = self._target_with(*parameters[i].tolist())
            before = merged.get((S.tobytes(), given), (S, 0.0, targets[given]))
            merged[S.tobytes(), given] = (S, weight + before[1], targets[given])
        return [
            [Component(target.columns(S), weight, target.outcomes[k]) for S, weight, target in merged.values()]
            for k in range(len(self.target.outcomes))
        ]

    def _target_with(self, c: float, nuisance: float) -> Target:
        """The target with these parameters; NaN keeps its own."""
        target = self.target
        if np.isfinite(c) and c != target.slab_precision:
            target = target.with_slab_precision(c)
        return target.with_nuisance(nuisance) if np.isfinite(nuisance) else target

    @one_blas_thread
    def predict(self, X: npt.ArrayLike, *, covariates: Any = None) -> PredictiveMixture:
        """The predictive law of new rows X (n, M), averaged over sets.

        `covariates` are the columns that are always included; for an estimator's posterior they are in X.
        """
        if self.candidates is not None:
            X, covariates = self.candidates.of(X if hasattr(X, "toarray") else np.asarray(X))
        if len(self.components) > 1:
            raise ValueError(
                f"predict must be of one outcome, got {len(self.components)}; use the predictions of an estimator."
            )
        return average_predictions(self.components[0], X, covariates)

    # --- trust ------------------------------------------------------------------------------------------------

    @one_blas_thread
    def diagnostics(self) -> Diagnostics:
        """How the fit went: errors of the probabilities, agreement of the chains, learned hyperparameters."""
        fit, target = self.fit, self.target
        return Diagnostics(
            converged=fit.converged,
            n_iter=fit.n_iter,
            expected_size=float(fit.inclusion.sum()),
            prior_expected_size=float(target.size or target.prior.expected_size),
            slab_precision=target.slab_precision,
            n_sets=len(fit.sets),
            largest_error=float(fit.inclusion_errors.max()),
            tol=fit.settings.tol,
            disagreement=float(fit.disagreement.max()),
            effective_size=fit.effective_size if np.isfinite(fit.effective_size) else None,
        )


def _distinct(sets: list[IntArray]) -> list[IntArray]:
    """The sets without repeats, in order."""
    return list({S.tobytes(): S for S in sets}.values())
