"""The target log p(y, γ), its flip gains, and the family that approximates it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from ..dpp import IndependentSets, LowRankDPP, Rows, SetDistribution, Volume, VolumeGains, of_size
from ..likelihoods import GainsLikelihood, Likelihood, QuadraticLikelihood
from ..priors import Prior
from ..sets import as_index_set, as_size, membership
from ..threads import side_by_side
from ..types import FloatArray, IntArray

Family = Literal["dpp", "bernoulli"]

# Mean field gives two copies of a feature a positive joint probability where a DPP prior gives them zero, so the
# divergence would be infinite. Only for this combination, this fraction of the diagonal is added to ΦΦᵀ.
NUGGET = 1e-6
FEW_FEATURES = 16  # at most 2^16 sets: draws repeat
LARGEST_WITH_NUGGET = 2048  # features; the exact normaliser with a nugget needs an (M, M) array, here 32 MiB
CACHE_BYTES = 1 << 22  # of evaluations, 16 bytes per feature and set
EVIDENCES = 1 << 13  # evidences cached in addition to the evaluations


class Evaluation(NamedTuple):
    """The evidence and volume of one set, and their flip gains.

    gains_m = log p(y|S∪m) − log p(y|S∖m); volume_gains_m the same for log ν (zeros if no DPP is involved).
    """

    log_evidence: float
    gains: FloatArray  # (M,)
    log_volume: float
    volume_gains: FloatArray  # (M,)


class Batch(NamedTuple):
    """Evaluations of n sets, stacked."""

    members: npt.NDArray[np.bool_]  # (n, M)
    log_evidence: FloatArray  # (n,)
    gains: FloatArray  # (n, M)
    log_volume: FloatArray  # (n,)
    volume_gains: FloatArray  # (n, M)


class OthersRatio(NamedTuple):
    """Mean likelihood ratio, given a set, of a feature that was left out: a power of the slab precision c.

    >>> OthersRatio().log_at(np.zeros(1))  # none of them is ever in a set
    array([-inf])
    """

    log_mean: float = -np.inf
    slope: float = 0.0
    log_c: tuple[float, float, float] = (0.0, 0.0, 0.0)  # lowest, mean and highest seen; clipped to this range

    def log_at(self, log_c: FloatArray) -> FloatArray:
        """Its log at log slab precisions (J,)."""
        low, mean, high = self.log_c
        return self.log_mean + self.slope * (np.clip(log_c, low, high) - mean)


@dataclass(frozen=True, eq=False)
class Target:
    """log p(y|S) + log p(S), and the family q_θ(S) ∝ e^{θ(S)} ν(S)^{[family is dpp]} that approximates it.

    The volume ν(S) = det([ΦΦᵀ]_S) may be part of the prior, of the family, or of both, with the same Φ. `size`
    restricts both to sets of exactly that many features.

    Several likelihoods over the same columns are independent outcomes that share the set, each with coefficients of
    its own: one-vs-rest classes, for example. Then log p(y|S) = Σ_k log p(y_k|S), and all get the same slab precision.
    `units` (C,) numbers the feature of each column if some features are several columns, such as one-hot factors. The
    gain of such a feature is a difference of log evidences, so every set costs one more evidence for each of them.

    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> target = Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), family="bernoulli")
    >>> target.log_joint(np.array([1])) > target.log_joint(np.array([0]))
    True
    """

    likelihood: Likelihood | Sequence[Likelihood]
    prior: Prior
    family: Family = "dpp"
    phi: npt.NDArray[np.floating] | None = None
    size: int | None = None
    others: int = 0  # number of features left out; each has the prior log-odds of these features without `tilt`
    others_ratio: OthersRatio = OthersRatio()  # noqa: RUF009
    tilt: FloatArray | None = None  # (M,) the part of the prior's θ that is given for single features
    units: IntArray | None = None  # (C,) the feature of each column; by default every column is one
    _volume: Volume | None = field(default=None, repr=False)
    _of_unit: list[IntArray] = field(default_factory=list, repr=False)  # the columns of each feature
    _cache: dict[bytes, Evaluation] = field(default_factory=dict, repr=False)
    _evidence: dict[bytes, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        given: Any = self.phi if self.prior.rows is None else self.prior.rows
        if self.family == "dpp" and given is None:
            raise ValueError(
                "phi must be given for a DPP posterior, unless the prior is a DPP, got None; pass "
                'similarity features, or family="bernoulli".'
            )
        _check_outcomes(self.outcomes)
        n_features = self.outcomes[0].n_features
        if self.units is not None:
            if not self._of_unit:
                object.__setattr__(self, "units", _checked_units(self.units, n_features))
                ends = np.cumsum(np.bincount(self.units))[:-1]
                object.__setattr__(self, "_of_unit", np.split(np.argsort(self.units, kind="stable"), ends))
            n_features = len(self._of_unit)
        if n_features != self.prior.n_items:
            raise ValueError(
                "likelihood and prior must have the same number of features, got "
                f"{n_features} and {self.prior.n_items}."
            )
        if self.family not in ("dpp", "bernoulli"):
            raise ValueError(f'family must be "dpp" or "bernoulli", got {self.family!r}.')
        if self.size is not None:
            as_size(self.size, self.n_features, "the number of features")
            if self.size == 0:
                raise ValueError("size must be at least 1, got 0: the empty set needs no fit.")
        if self._volume is None and given is not None:
            rows = Rows.of(given)
            if len(rows.phi) != self.n_features:
                raise ValueError(f"phi must have {self.n_features} rows, one per feature, got shape {rows.phi.shape}.")
            object.__setattr__(self, "phi", rows.phi)
            object.__setattr__(self, "_volume", Volume(rows, NUGGET if self.family == "bernoulli" else 0.0))
            self._check_rank()

    def _check_rank(self) -> None:
        if self.size is None:
            return
        # if the family has no ν, the prior has a nugget: then only zero rows make a set impossible
        rank = min(self.distribution(np.zeros(self.n_features)).rank, int((~self.impossible).sum()))
        if self.prior_has_volume and self.n_features > LARGEST_WITH_NUGGET:
            rank = min(rank, self.prior.rank)
        if self.size > rank:
            raise ValueError(
                f"size must be at most {rank}, the rank of phi, got {self.size}: larger sets have probability zero. "
                "Ask for fewer features or give a phi of higher rank."
            )

    @property
    def volume(self) -> Volume:
        """ν, if the prior or the family is a DPP."""
        if self._volume is None:
            raise ValueError("Neither prior nor family is a DPP: there is no volume.")
        return self._volume

    @property
    def n_features(self) -> int:
        """M."""
        return self.prior.n_items

    @property
    def prior_has_volume(self) -> bool:
        """Whether ν is part of the prior."""
        return self.prior.diversity > 0

    @property
    def diversity(self) -> float:
        """The exponent β of ν in the prior."""
        return self.prior.diversity

    @cached_property
    def outcomes(self) -> tuple[Likelihood, ...]:
        """The likelihoods, over columns."""
        several = isinstance(self.likelihood, Sequence)
        return tuple(cast(Sequence[Likelihood], self.likelihood)) if several else (cast(Likelihood, self.likelihood),)

    @cached_property
    def widths(self) -> IntArray:
        """Number of columns of each feature (M,)."""
        return np.ones(self.n_features, dtype=np.int64) if self.units is None else np.bincount(self.units)

    def in_order(self, S: IntArray) -> IntArray:
        """The columns of features, feature by feature."""
        if self.units is None:
            return S
        return np.concatenate([self._of_unit[m] for m in S]) if len(S) else np.empty(0, dtype=np.int64)

    def columns(self, S: IntArray) -> IntArray:
        """Sorted columns of features."""
        return S if self.units is None else np.sort(self.in_order(S))

    def standardised(self, features: IntArray) -> FloatArray:
        """Standardised columns of features (C, N), feature by feature, if the outcomes have quadratic forms."""
        return cast(QuadraticLikelihood, self.outcomes[0]).columns_of(self.in_order(features))

    @property
    def has_forms(self) -> bool:
        """Whether every outcome has a quadratic form."""
        return all(isinstance(outcome, QuadraticLikelihood) for outcome in self.outcomes)

    @property
    def slab_precision(self) -> float | None:
        """Slab precision of the first outcome, if all have one."""
        found = [getattr(outcome, "slab_precision", None) for outcome in self.outcomes]
        return None if None in found else found[0]

    @property
    def prior_shift(self) -> float:
        """The prior's log-odds without `tilt`, the same for all features."""
        return float(self.prior.theta[0] - (0.0 if self.tilt is None else self.tilt[0]))

    @property
    def nuisance(self) -> float:
        """The outcome's nuisance parameter; NaN if it has none, or there are several outcomes."""
        first = self.outcomes[0]
        return first.nuisance if isinstance(first, QuadraticLikelihood) and len(self.outcomes) == 1 else np.nan

    @property
    def family_has_volume(self) -> bool:
        """Whether ν is part of q."""
        return self.family == "dpp"

    @cached_property
    def impossible(self) -> npt.NDArray[np.bool_]:
        """Features (M,) that q must exclude: their rows of phi are zero, so their prior probability is zero."""
        if self.family_has_volume or not self.prior_has_volume:
            return np.zeros(self.n_features, dtype=bool)
        return np.asarray(self.volume.log_norms == -np.inf)

    @property
    def has_gains(self) -> bool:
        """Whether every outcome has flip gains."""
        return all(isinstance(outcome, GainsLikelihood) for outcome in self.outcomes)

    @property
    def exact_gains(self) -> bool:
        """Whether flip gains equal differences of log evidence; EP's are first-order."""
        return all(outcome.exact_gains for outcome in self.outcomes if isinstance(outcome, GainsLikelihood))

    @property
    def sets_recur(self) -> bool:
        """Whether there are so few sets that draws repeat."""
        return self.n_features <= FEW_FEATURES

    def distribution(self, theta: FloatArray) -> SetDistribution:
        """q_θ."""
        return self._family.with_theta(theta)

    @cached_property
    def _family(self) -> IndependentSets | LowRankDPP:
        """The member with θ = 0."""
        nothing = np.zeros(self.n_features)
        if self.phi is None or self.family == "bernoulli":
            return IndependentSets(nothing)
        return LowRankDPP(self.volume.rows, nothing)

    def log_normalizer(self, q: SetDistribution) -> float:
        """log Σ_S e^{θ(S)} ν(S) over all sets, or all sets of the fixed size."""
        return of_size(q, self.size).log_normalizer

    def draw(self, q: SetDistribution, n: int, rng: np.random.Generator) -> list[IntArray]:
        """Draw n sets from q."""
        return of_size(q, self.size).sample(n, rng)

    @cached_property
    def prior_log_normalizer(self) -> float:
        """log Σ_S e^{a(S)} ν(S)^β of the prior. For β other than 0 and 1 it is estimated, without the nugget."""
        if not isinstance(self.prior, LowRankDPP) or self.volume.nugget == 0.0:
            prior = self.prior
            return prior.log_normalizer if self.size is None else prior.log_normalizer_fixed_size(self.size)
        # log det(I + D(ΦΦᵀ + εN)D) = log det(I + εD²N) + log det(I + D'ΦΦᵀD'), D'² = D²/(1 + εD²N)
        shrink = np.logaddexp(0.0, self.prior.theta + 2 * self.volume.log_norms + np.log(self.volume.nugget))
        shrunk = self.prior.with_theta(self.prior.theta - shrink)
        if self.size is None:
            return float(shrink.sum()) + shrunk.log_normalizer
        return self._prior_with_nugget(self.prior).log_normalizer_fixed_size(self.size)

    def _prior_with_nugget(self, prior: LowRankDPP) -> LowRankDPP:
        """The prior with its nugget as one more column of Φ per feature, an array (M, M), up to LARGEST_WITH_NUGGET.

        With more features, sets are small compared with the rank, and the nugget changes the sum by less than ε.
        """
        if self.n_features > LARGEST_WITH_NUGGET:
            return prior
        own = np.diag(np.exp(self.volume.log_norms) * np.sqrt(self.volume.nugget))
        return LowRankDPP(np.hstack([prior.phi, own]), prior.theta)

    def log_ratios(self, q: SetDistribution, sets: Sequence[IntArray]) -> FloatArray:
        """log p(y, S) − log q(S) of each set (n,): the mean over draws from q is the ELBO."""
        h = np.array([self.log_weight(S) - q.theta[S].sum() for S in sets])
        return np.asarray(h + self.log_normalizer(q) - self.prior_log_normalizer)

    def with_prior(self, prior: Prior) -> Self:
        """The same data under another prior; the cache is kept unless phi changes."""
        if prior.rows is not None and not (self.phi is not None and np.may_share_memory(prior.rows.phi, self.phi)):
            return replace(self, prior=prior, phi=None, _volume=None, _cache={})
        return replace(self, prior=prior)

    def with_slab_precision(self, c: float) -> Self:
        """The same with another slab precision and an empty cache."""
        without = [outcome for outcome in self.outcomes if not hasattr(outcome, "with_slab_precision")]
        if without:
            raise ValueError(f"likelihood must have a slab precision, got {type(without[0]).__name__}.")
        return self._with(lambda outcome: cast(QuadraticLikelihood, outcome).with_slab_precision(c))

    def with_nuisance(self, value: float) -> Self:
        """The same with another value of the nuisance parameter and an empty cache."""
        return self._with(lambda outcome: cast(QuadraticLikelihood, outcome).with_nuisance(value))

    def roughly(self, rough: bool) -> Self:
        """The same with the rougher, faster likelihood used inside a fit, or with the accurate one."""
        if not self.has_gains:
            return self
        found = self._with(lambda outcome: cast(GainsLikelihood, outcome).roughly(rough))
        same = all(new is old for new, old in zip(found.outcomes, self.outcomes, strict=True))
        return self if same else found

    def _with(self, other: Callable[[Likelihood], Likelihood]) -> Self:
        """The same prior and family with each outcome replaced, and an empty cache."""
        outcomes = tuple(map(other, self.outcomes))
        return replace(self, likelihood=outcomes if len(outcomes) > 1 else outcomes[0], _cache={}, _evidence={})

    def log_joint(self, S: npt.ArrayLike) -> float:
        """log p(y|S) + log p(S)."""
        S = as_index_set(S, self.n_features)
        value = self._known_evidence(S) + float(self.prior.theta[S].sum()) - self.prior_log_normalizer
        return value + self.diversity * self.volume.log_volume(S) if self.prior_has_volume else value

    def log_weight(self, S: IntArray) -> float:
        """log p(y, S), without the prior's normaliser, minus log ν(S) if ν is part of q: linear in γ if q is exact."""
        value = self._known_evidence(S) + float(self.prior.theta[S].sum())
        return value + self.excess_power * self.volume.log_volume(S) if self.excess_power else value

    @property
    def excess_power(self) -> float:
        """The exponent of ν in the prior minus that in q."""
        return self.diversity - float(self.family_has_volume)

    def log_evidence(self, S: npt.ArrayLike) -> float:
        """log p(y|S), cached."""
        return self._known_evidence(as_index_set(S, self.n_features))

    def _known_evidence(self, S: IntArray) -> float:
        key = S.tobytes()
        if key not in self._evidence:  # first, so that a set keeps its value if it is evaluated later
            known = self._cache.get(key)
            self._evidence[key] = known.log_evidence if known else self._new_evidence(S)
            _forget(self._evidence, EVIDENCES)
        return self._evidence[key]

    def _new_evidence(self, S: IntArray) -> float:
        columns = self.columns(S)
        return float(sum(outcome.log_evidence(columns) for outcome in self.outcomes))

    def log_odds(self, batch: Batch) -> FloatArray:
        """Log-odds of every feature under the target given the rest of each set (n, M)."""
        found = batch.gains + self.prior.theta
        return found + self.diversity * batch.volume_gains if self.prior_has_volume else found

    def evaluate(self, sets: Sequence[IntArray]) -> Batch:
        """Evidence and flip gains of many sets; each distinct set is computed once."""
        new = {S.tobytes(): S for S in sets if S.tobytes() not in self._cache}
        found = dict(zip(new, self._evaluate(list(new.values())), strict=True))
        here = [found.get(S.tobytes()) or self._cache[S.tobytes()] for S in sets]
        self._remember(found)
        return Batch(membership(sets, self.n_features), *(np.array(part) for part in zip(*here, strict=True)))

    def exchanges(self, S: IntArray) -> FloatArray:
        """log p(y, S∖j ∪ m) for each member j and every m outside S (|S|, M), according to the gains.

        Uses one factor of S for each outcome if features are columns, else the flip gains of every S∖j. If gains are
        approximate, one factor means the terms of S for all its neighbours: with three classes that is as close (0.20
        nats off instead of 0.24) and takes a fifth of the time.
        """
        if not (self.units is None and self.has_forms and self._independent(S)):
            rests = [np.delete(S, j) for j in range(len(S))]
            gains = self.log_odds(self.evaluate(rests))  # first, since it caches the evidence of the rests
            return np.asarray(gains + np.array([[self.log_joint(rest)] for rest in rests]))
        theta = self.prior.theta
        gains = np.sum([cast(QuadraticLikelihood, outcome).exchange_gains(S) for outcome in self.outcomes], axis=0)
        found: FloatArray = self.log_joint(S) + gains + (theta - theta[S][:, None])
        return found + self.diversity * self.volume.exchange_gains(S) if self.prior_has_volume else found

    def _independent(self, S: IntArray) -> bool:
        return not self.prior_has_volume or self.volume.log_volume(S) > -np.inf

    def _evaluate(self, sets: list[IntArray]) -> list[Evaluation]:
        if not sets:
            return []
        without = [outcome for outcome in self.outcomes if not isinstance(outcome, GainsLikelihood)]
        if without:
            raise ValueError(f"likelihood must have flip_gains, got {type(without[0]).__name__}.")
        values, gains = self._gains(sets)
        if self._volume is None:
            nothing = np.zeros(self.n_features)
            return [Evaluation(v, g, 0.0, nothing) for v, g in zip(values, gains, strict=True)]
        self._volume.prefetch(sets)
        volumes = [self._volume_gains(S) for S in sets]
        return [Evaluation(v, g, *volume) for v, g, volume in zip(values, gains, volumes, strict=True)]

    def _gains(self, sets: list[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Log evidence (n,) and flip gains (n, M), summed over the outcomes."""
        of_columns, found = [self.columns(S) for S in sets], [(np.empty(0), np.empty(0))] * len(self.outcomes)

        def fill(k: int) -> None:
            found[k] = cast(GainsLikelihood, self.outcomes[k]).flip_gains_many(of_columns)

        side_by_side(fill, range(len(found)))
        values, gains = (np.sum(part, axis=0) for part in zip(*found, strict=True))
        if self.units is None:
            return values, gains
        gains = gains[:, [columns[0] for columns in self._of_unit]]
        several = np.flatnonzero(self.widths > 1)
        for row, value, S in zip(gains, values, sets, strict=True):
            row[several] = [self._difference(int(m), S, value) for m in several]
        return values, gains

    def _difference(self, m: int, S: IntArray, value: float) -> float:
        """Flip gain of a feature, from log p(y | S)."""
        if m in S:
            return value - self._new_evidence(S[m != S])
        return self._new_evidence(np.sort(np.append(S, m))) - value

    def _volume_gains(self, S: IntArray) -> VolumeGains:
        if not self.prior_has_volume and self.volume.log_volume(S) == -np.inf:
            # if the target has no ν, its local search may try copies; q never draws them
            return VolumeGains(-np.inf, np.full(self.n_features, -np.inf))
        return self.volume.flip_gains(S)

    def _remember(self, found: dict[bytes, Evaluation]) -> None:
        self._cache.update(found)
        _forget(self._cache, max(CACHE_BYTES // (16 * self.n_features), 1))


def _check_outcomes(outcomes: Sequence[Any]) -> None:
    """Raise unless these are likelihoods over the same columns."""
    for outcome in outcomes:
        if not isinstance(outcome, Likelihood):
            raise ValueError(
                f"likelihood must have `log_evidence` and `n_features`, got {type(outcome).__name__}. "
                "Wrap a function of a set as CustomLikelihood(function, n_features)."
            )
        if hasattr(outcome, "flip_gains") and not isinstance(outcome, GainsLikelihood):
            raise ValueError(
                "likelihood must have `flip_gains_many`, `exact_gains` and `roughly` beside `flip_gains`, got "
                f"{type(outcome).__name__}; see the protocol variegate.likelihoods.GainsLikelihood."
            )
    sizes = sorted({outcome.n_features for outcome in outcomes})
    if len(sizes) != 1:
        raise ValueError(f"likelihoods of several outcomes must be over the same columns, got sizes {sizes}.")


def _checked_units(units: Any, n_columns: int) -> IntArray:
    """The features of the columns; raises unless they are numbered without gaps."""
    numbers = np.asarray(units)
    whole = numbers.shape == (n_columns,) and numbers.dtype.kind in "iu"
    if not whole or not np.array_equal(np.unique(numbers), np.arange(len(np.unique(numbers)))):
        raise ValueError(f"units must number the feature of each of the {n_columns} columns as 0, 1, …, without gaps.")
    return numbers.astype(np.int64, copy=False)


def _forget(known: dict[bytes, Any], room: int) -> None:
    """Drop the oldest entries until `room` remain."""
    while len(known) > room:
        del known[next(iter(known))]
