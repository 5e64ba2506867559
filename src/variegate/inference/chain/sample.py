"""Sets drawn from the posterior by exact chains, and inclusion probabilities with their errors."""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ...dpp import SetDistribution, of_size, with_inclusion_prob
from ...sets import NOTHING, as_count, as_index_set
from ...types import FloatArray, IntArray
from ..progress import Callback, ConvergenceWarning, Progress
from ..target import Target
from .enumeration import can_enumerate, enumerate_sets
from .errors import Averages
from .grid import PriorSizes, grid_of
from .metropolis import run_metropolis
from .model import Model
from .run import Chains, run_chains
from .settings import ChainSettings
from .starts import first_sets

CHAINS = 4  # independent chains, in parallel threads


class Hyperparameters(NamedTuple):
    """Posterior of the prior's expected size and of the slab precision, on a grid.

    >>> h = Hyperparameters(np.array([1.0, 2.0]), np.array([10.0]), np.array([[0.25], [0.75]]))
    >>> h.expected_size_quantile(0.5)
    2.0
    """

    expected_sizes: FloatArray  # (I,)
    slab_precisions: FloatArray  # (J,)
    probability: FloatArray  # (I, J)

    def expected_size_quantile(self, u: float) -> float:
        """Quantile of the prior's expected size."""
        return float(self.expected_sizes[_quantile(self.probability.sum(axis=1), u)])


def _quantile(probability: FloatArray, u: float) -> int:
    return int(np.searchsorted(np.cumsum(probability), u * probability.sum()))


@dataclass(frozen=True, eq=False)
class Sample:
    """The result of the chains: sets from the posterior, inclusion probabilities and their errors.

    `target` has the geometric means of hyperparameters that were averaged over; each set has its own slab precision.

    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> found = sample(Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), family="bernoulli"), rng)
    >>> found.converged, found.inclusion.round(1)
    (True, array([0., 1., 0., 0.]))
    """

    target: Target = field(repr=False)
    settings: ChainSettings
    inclusion: FloatArray  # (M,)
    inclusion_errors: FloatArray  # (M,) Monte Carlo standard errors
    disagreement: FloatArray  # (M,) variance between chains divided by that expected from within them: about 1
    sets: list[IntArray] = field(repr=False)
    weights: FloatArray = field(repr=False)  # (n,) summing to one
    slab_precisions: FloatArray = field(repr=False)  # (n,), NaN if the likelihood has none
    nuisances: FloatArray = field(repr=False)  # (n,) of the likelihood, NaN if it has none
    hyperparameters: Hyperparameters = field(repr=False)
    n_iter: int  # laps
    n_steps: int
    converged: bool
    interrupted: bool
    included: IntArray = field(default_factory=lambda: NOTHING)
    excluded: IntArray = field(default_factory=lambda: NOTHING)

    @property
    def q(self) -> SetDistribution:
        """The member of the family with these inclusion probabilities, over features neither included nor excluded.

        Warns if `q_difference` is above `tol`.
        """
        q, difference = self._matched
        if difference > self.settings.tol:
            warnings.warn(
                f"posterior.q has the inclusion probabilities of the chains only to within {difference:.2g}: the "
                "family has no member with exactly these, or none was found.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return q

    @property
    def q_difference(self) -> float:
        """Largest difference between the inclusion probabilities of q and of the chains."""
        return self._matched[1]

    @cached_property
    def _matched(self) -> tuple[SetDistribution, float]:
        q = self.target.distribution(self.target.prior.theta)
        if len(self.included) or len(self.excluded):
            q = q.condition(include=self.included, exclude=self.excluded)
        size = None if self.target.size is None else self.target.size - len(self.included)
        with threadpool_limits(1, user_api="blas"):
            q = with_inclusion_prob(q, self.inclusion[q.items], size)
            reached = of_size(q, size).inclusion_prob()
        return q, float(np.abs(reached - self.inclusion[q.items]).max(initial=0.0))

    @property
    def effective_size(self) -> float:
        """Number of independent sets that the average is worth, for the feature with the largest error."""
        worst = int(np.argmax(self.inclusion_errors))
        p, error = self.inclusion[worst], self.inclusion_errors[worst]
        return float(p * (1 - p) / error**2) if error > 0 else float("inf")

    def draw(self, n: int, rng: np.random.Generator) -> list[IntArray]:
        """Draw n of the sets, with replacement."""
        return [self.sets[i] for i in rng.choice(len(self.sets), size=as_count(n), p=self.weights)]

    @cached_property
    def _shares(self) -> dict[bytes, float]:
        shares: dict[bytes, float] = {}
        for S, weight in zip(self.sets, self.weights, strict=True):
            shares[S.tobytes()] = shares.get(S.tobytes(), 0.0) + float(weight)
        return shares

    def log_prob(self, S: npt.ArrayLike) -> float:
        """Log of the fraction of sets equal to S; −inf if there are none."""
        with np.errstate(divide="ignore"):
            return float(np.log(self._shares.get(as_index_set(S, self.target.n_features).tobytes(), 0.0)))

    def given(self, included: IntArray, excluded: IntArray) -> Self:
        """The posterior under conditions, by new chains started from the sets of this one.

        The same fit always gives the same answer; another fit, whose last digits differ, draws other numbers.
        """
        rng = np.random.default_rng(self.inclusion.view(np.uint64))
        starts = [np.union1d(np.setdiff1d(S, excluded), included) for S in self.draw(CHAINS, rng)]
        return sample(  # type: ignore[return-value]
            self.target, rng, self.settings, included=included, excluded=excluded, starts=starts
        )


def sample(
    target: Target,
    rng: np.random.Generator | int | None,
    settings: ChainSettings | None = None,
    *,
    included: npt.ArrayLike = NOTHING,
    excluded: npt.ArrayLike = NOTHING,
    starts: list[IntArray] | None = None,
    callback: Callback | None = None,
) -> Sample:
    """Draw from the posterior over sets until every inclusion probability has a Monte Carlo error below `tol`.

    If there are at most 4,096 sets and the evidence needs no auxiliary variables, all sets are summed instead.

    Outcomes with a quadratic form given auxiliary variables (`Gaussian`, `Logistic`), or an approximate one plus the
    evidence, have a compiled chain. Any other is only a function of a set, and Metropolis steps evaluate it once for
    each new set: use that for a few dozen features. `included` features are in every set,
    `excluded` ones in none. On Ctrl-C the result so far is returned, with a warning; if there are
    fewer than two laps, KeyboardInterrupt is raised. `callback` is called with a `Progress` from time to time.

    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> target = Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), family="bernoulli")
    >>> sample(target, rng).inclusion.argmax()
    np.int64(1)
    """
    settings, rng = settings or ChainSettings(), np.random.default_rng(rng)
    included, excluded = _checked_conditions(target, included, excluded)
    quadratic = can_sample(target)
    if not quadratic:
        settings = replace(settings, average_slab=False)
    grid = grid_of(target, settings)
    model = Model(target, grid, included, excluded)
    _check_possible(model)

    def report(laps: int, averages: Averages) -> None:
        if callback is not None:
            callback(Progress(laps, float(averages.inclusion.sum()), float(averages.error.max())))

    with threadpool_limits(1, user_api="blas"):
        if quadratic and can_enumerate(model):
            found = enumerate_sets(model)
            report(1, found.averages)
            return _value(model, settings, found)
        starts = None if starts is None else [model.possible(S, rng) for S in starts]
        if quadratic:
            starts = first_sets(model, CHAINS, rng) if starts is None else starts
            found = run_chains(model, starts, rng, settings, report)
        else:
            found = run_metropolis(model, starts, CHAINS, rng, settings, report)
    _warn_if_cut_short(found, settings)
    return _value(model, settings, found)


def _warn_if_cut_short(found: Chains, settings: ChainSettings) -> None:
    if found.interrupted:
        warnings.warn("Interrupted: the probabilities are those found so far.", ConvergenceWarning, stacklevel=3)
    elif not found.converged:
        warnings.warn(
            f"After {found.laps} laps some probability still has a Monte Carlo error of "
            f"{found.averages.error.max():.2g}, above {settings.tol:g}: allow more laps (max_iter) or a "
            "larger error (tol).",
            ConvergenceWarning,
            stacklevel=3,
        )


def _checked_conditions(target: Target, included: npt.ArrayLike, excluded: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """The conditions as sorted positions; raises if they contradict each other."""
    within = as_index_set(included, target.n_features, "included")
    without = as_index_set(excluded, target.n_features, "excluded")
    both = np.intersect1d(within, without)
    if len(both):
        raise ValueError(f"Feature {both[0]} cannot be both included and excluded.")
    if target.size is not None and len(within) > target.size:
        raise ValueError(f"Sets have {target.size} features; {len(within)} cannot be included.")
    return within, without


def _check_possible(model: Model) -> None:
    """Raise if no set meets the conditions."""
    target, included = model.target, model.included
    if target.prior_has_volume and target.volume.log_volume(included) == -np.inf:
        raise ValueError(
            f"Features {included.tolist()} never occur together: their rows of phi are linearly dependent. Include "
            "fewer of them."
        )
    if target.size is None:
        return
    possible = len(model.independent(np.concatenate([included, np.flatnonzero(model.free)]), target.size))
    if possible < target.size:
        raise ValueError(
            f"Sets have {target.size} features; with {len(included)} included and {len(model.excluded)} excluded, "
            f"{target.size - len(included)} more are needed, and at most {possible - len(included)} of the others can "
            "be in one set. Exclude fewer."
        )


def can_sample(target: Target) -> bool:
    """Whether all outcomes have quadratic forms; without them, chains evaluate sets one by one."""
    return target.has_forms


def _value(model: Model, settings: ChainSettings, found: Chains) -> Sample:
    target, grid = model.target, model.grid
    prior = PriorSizes.of(target)
    sizes = np.array([target.size or prior.expected(float(t)) for t in grid.log_kappa])
    learned = Hyperparameters(np.asarray(sizes, dtype=np.float64), np.exp(grid.log_c), found.visits)
    if len(grid.log_kappa) > 1:
        target = target.with_prior(target.prior.shifted(float(found.visits.sum(axis=1) @ grid.log_kappa)))
    if len(grid.log_c) > 1:
        target = target.with_slab_precision(float(np.exp(found.visits.sum(axis=0) @ grid.log_c)))
    nuisances = np.array([draw.nuisance for draw in found.draws])
    slab_precisions = np.exp(grid.log_c[[draw.at[1] for draw in found.draws]])
    if np.isfinite(nuisances).all():
        target = target.with_nuisance(float(np.exp(np.log(nuisances).mean())))
    return Sample(
        target=target,
        settings=settings,
        inclusion=found.averages.inclusion,
        inclusion_errors=found.averages.error,
        disagreement=found.averages.disagreement,
        sets=[draw.S for draw in found.draws],
        weights=np.full(len(found.draws), 1 / len(found.draws)),
        slab_precisions=np.full(len(found.draws), np.nan) if target.slab_precision is None else slab_precisions,
        nuisances=nuisances,
        hyperparameters=learned,
        n_iter=found.laps,
        n_steps=found.steps,
        converged=found.converged,
        interrupted=found.interrupted,
        included=model.included,
        excluded=model.excluded,
    )
