"""The loop: starts, hyperparameters, stages, and the best of it all."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal, Self, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from ..dpp import SetDistribution
from ..dpp.sets import IntArray
from .fixed_form import Covariance, fixed_form
from .hyperparameters import learn_size, learn_slab_precision
from .local_search import NOTHING
from .progress import Callback, ConvergenceWarning, Progress
from .proposal import propose
from .rao_blackwell import FEW_FEATURES, HOPELESS, Point, fixed_point, natural_gradient
from .starts import best_set, feasible, flat_start, later_starts, start_at
from .target import Float64Array, Target

Estimate: TypeAlias = tuple[float, float]  # and its standard error

CHECKED = 400  # sets behind the diagnostics of a conditioned q
FINAL_SETS = 400  # and half as many where each needs expectation propagation
SLAB_SETS = 24  # likewise
LARGE_SIZE = 50  # features in a set; beyond, fewer sets
SAME_PLACE = 0.1  # starts whose inclusion probabilities differ by no more have met
ROUNDS = 6  # of stage A and empirical Bayes in turn


@dataclass(frozen=True)
class Settings:
    """How hard to try; `learn_size` and `learn_slab` switch empirical Bayes on.

    With fixed_form, up to half of the iterations go into learning; the last half runs under what was learned.

    >>> Settings(n_starts=1, max_iter=200).iterations
    200
    >>> Settings(solver="fixed_form").iterations
    4000
    """

    solver: Literal["rao_blackwell", "fixed_form"] = "rao_blackwell"
    n_starts: int = 4  # at most; of many features no more are tried after one that fell short
    n_sets: int | None = None  # sets an iteration of stage B; None: 16 to 256, by how dear they are
    max_iter: int | None = None  # None: 60 of stage B, 4000 of fixed_form
    tol: float = 0.005
    learn_size: bool = True
    learn_slab: bool = True
    covariance: Covariance = "empirical"  # C of fixed_form: averaged over draws, or in closed form (free size only)

    def __post_init__(self) -> None:
        if self.solver not in ("rao_blackwell", "fixed_form"):
            raise ValueError(
                f'The solver must be "rao_blackwell" or "fixed_form", got {self.solver!r}; the exact chain is the '
                "function sample."
            )
        if self.covariance not in ("empirical", "closed"):
            raise ValueError(f'covariance must be "empirical" or "closed", got {self.covariance!r}.')
        for name in ("n_starts", "n_sets", "max_iter"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value >= 1):
                raise ValueError(f"{name} must be at least 1, a whole number, got {value!r}.")
        if not self.tol >= 0:  # also where it is nan
            raise ValueError(f"tol must be a number of nats, zero or more, got {self.tol!r}.")

    @property
    def iterations(self) -> int:
        """max_iter, or the solver's own default."""
        return self.max_iter or (4000 if self.solver == "fixed_form" else 60)


@dataclass(frozen=True, eq=False)
class Fit:
    """What a solver found: q, the target with its learned hyperparameters, and how it went.

    >>> from variegate.inference import Target
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


def fit(
    target: Target,
    rng: np.random.Generator | int | None,
    settings: Settings | None = None,
    *,
    start: Float64Array | None = None,
    callback: Callback | None = None,
) -> Fit:
    """Fit q to the target by maximising the ELBO; `rng` is a generator or a seed.

    `start` (M,) is a warm start of θ; other starts are then left out. On Ctrl-C the best point so far is returned,
    with a warning; before there is one, KeyboardInterrupt goes on its way. `callback` hears a `Progress` after every
    iteration (every 50 of fixed_form).

    >>> from variegate.inference import Target
    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> target = Target(Gaussian(X, y), bernoulli_prior(4, expected_size=1), family="bernoulli")
    >>> fit(target, rng).q.map()
    array([1])
    """
    if start is not None:
        start = np.asarray(start, dtype=np.float64)
        if start.shape != (target.n_features,) or not np.isfinite(start).all():
            raise ValueError(f"start must hold {target.n_features} finite numbers, θ for each feature, got {start!r}.")
        start = feasible(target, start)
    search = _Search(target.roughly(True), np.random.default_rng(rng), settings or Settings(), callback)
    interrupted = False
    # the loop works on many small matrices, on which BLAS threads wait for each other longer than they compute
    with threadpool_limits(1, user_api="blas"):
        try:
            search.run(start)
        except KeyboardInterrupt:
            if not search.points:
                raise
            interrupted = True
        found = search.result(interrupted)
    if interrupted:
        warnings.warn("Interrupted: the fit is the best found so far.", ConvergenceWarning, stacklevel=2)
    elif not found.converged:
        warnings.warn(
            f"The fit had not settled after {found.n_iter} iterations; allow more (max_iter, now "
            f"{search.settings.iterations}) or accept rougher probabilities (tol, now {search.settings.tol:g}).",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found


@dataclass
class _Search:
    """The state of one fit: the target as its hyperparameters are learned, and every point reached."""

    target: Target
    rng: np.random.Generator
    settings: Settings
    callback: Callback | None
    points: list[Point] = field(default_factory=list)
    mode: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def run(self, start: Float64Array | None) -> None:
        """All stages; `points` ends with the best point."""
        if self.settings.solver == "fixed_form" or not self.target.has_gains:
            theta = flat_start(self.target) if start is None else start
            self._printed(theta) if self.settings.solver == "fixed_form" else self._without_gains(theta)
            return
        if start is None:
            start = start_at(self.target, self._best_set())
            others = self.settings.n_starts - 1
        else:
            others = 0
        self._learn(start)
        reached = [self.points[-1]]
        # where features are few stage B is cheap, and every start worth trying
        cheap = self._few and not self.target.sets_are_dear
        margin = HOPELESS if cheap else 0.0
        starts = later_starts(self.target, others, self.rng)
        for theta in list(starts) if self._few else starts:  # of few features all are tried
            reached.append(self._fixed_point(theta, to_beat=level(self.points[-1]) - margin))
            self.points.append(max(reached, key=level))
            if not self._few and self.points[-1] is not reached[-1]:
                # Starts are dear where features are many, and more bring little: over ten data sets of M = 2000 the
                # ELBO was -288.9, -288.2, -288.4 with one, two and four (logistic), -1329.3 with each (Gaussian).
                break
        best = max(level(point) for point in reached) - margin
        close = sorted((p for p in reached if level(p) >= best - 3 * error(p)), key=level, reverse=True)
        self._refine(distinct(close)[: 4 if cheap else 2])

    @property
    def _few(self) -> bool:
        return self.target.n_features <= FEW_FEATURES

    def _printed(self, theta: Float64Array) -> None:
        """Algorithm 1; where hyperparameters are to be learned, after a quarter of the iterations or two."""
        left = self.settings.iterations
        learn = left >= 8 and (self.settings.learn_size or self.settings.learn_slab)
        for n in (left // 4, left // 4) if learn else ():
            theta = self._kept(self._algorithm_1(theta, n)).theta
            left -= n
            if not self._update_hyperparameters(self.points[-1]):
                break
        self._kept(self._algorithm_1(theta, left))

    def _algorithm_1(self, theta: Float64Array, n_iter: int) -> Callable[..., Point]:
        C = self.settings.covariance
        return partial(fixed_form, self.target, theta, self.rng, n_iter=n_iter, covariance=C)

    def _kept(self, run: Callable[..., Point]) -> Point:
        """Where a stage ends, or has come to on Ctrl-C: appended to `points`, with the trace of those before."""
        heard: list[Progress] = []

        def listen(progress: Progress) -> None:
            heard.append(progress)
            if self.callback is not None:
                self.callback(progress)

        try:
            point = run(callback=listen)
        except KeyboardInterrupt:
            path = [p.theta for p in heard if p.theta is not None]
            if path:
                theta, trace = np.mean(path[len(path) // 2 :], axis=0), np.array([p.elbo for p in heard])
                self.points.append(Point(theta, np.zeros_like(theta), trace, np.zeros_like(trace), converged=False))
            raise
        self.points.append(joined(self.points[-1], point) if self.points else point)
        return point

    def _best_set(self) -> IntArray:
        """The target's own best set, with hyperparameters to match: a rough beginning for both."""
        self.mode = np.empty(0, dtype=np.int64)
        for _ in range(ROUNDS):
            S = self.mode = best_set(self.target, self.mode)
            before = self.target
            if self.settings.learn_size and self.target.size is None:
                self.target = learn_size(self.target, len(S))
            if self.settings.learn_slab:
                self.target = learn_slab_precision(self.target, [S])
            if self.target is before:
                break
        return self.mode

    @property
    def n_sets(self) -> int:
        """Sets an iteration of stage B."""
        usual = self._affordable(64)
        # each set informs all features, and costs time and memory for each of them
        scaled = usual * 2000 / max(self.target.n_features, 1) * self._thrift
        most = 64 if self.target.sets_are_dear else 256
        if self.target.size is not None and self.target.sets_recur and self.target.exact_gains:
            most = 1024  # a set of fixed size says less of the others
        return self.settings.n_sets or int(np.clip(scaled, 16, most))

    @property
    def _thrift(self) -> float:
        """Share of the usual number of sets: the time of one grows with the square of its size."""
        size = self.target.size or self.target.prior.expected_size
        return min(1.0, (LARGE_SIZE / size) ** 2)

    def _affordable(self, n: int) -> int:
        """N sets, or half as many: expectation propagation is dear."""
        return n if self.target.exact_gains else n // 2

    def _fixed_point(self, theta: Float64Array, max_iter: int = 8, to_beat: float = -np.inf) -> Point:
        n, tol = max(self.n_sets // 4, 2), self.settings.tol
        return fixed_point(
            self.target, theta, self.rng, n_sets=n, max_iter=max_iter, tol=tol, to_beat=to_beat, callback=self.callback
        )

    def _learn(self, theta: Float64Array) -> None:
        """Stage A and empirical Bayes in turn, until the hyperparameters stay where they are."""
        for left in reversed(range(ROUNDS)):
            point = self._fixed_point(theta, max_iter=5 if self._few or self.target.exact_gains else 3)
            self.points.append(point)
            theta = point.theta
            # the last point belongs to the last target, so that later starts are compared with it under the same
            if not (left and self._update_hyperparameters(point)):
                return

    def _update_hyperparameters(self, point: Point, least_change: float = 0.1) -> bool:
        """Empirical Bayes at a point; whether it changed anything."""
        before = self.target
        if self.settings.learn_size and self.target.size is None:
            self.target = learn_size(self.target, float(point.inclusion.sum()), least_change)
        if self.settings.learn_slab:
            sets = propose(self.target, point.theta, point.inclusion).draw(self._affordable(SLAB_SETS), self.rng)
            self.target = learn_slab_precision(self.target, sets, 2 * least_change)
        return self.target is not before

    def _natural_gradient(self, point: Point, n_sets: int, elbo: Estimate, callback: Callback | None = None) -> Point:
        """Stage B from a point whose ELBO under the present target is known."""
        s = self.settings
        callback = callback or self.callback
        found = natural_gradient(
            self.target, point, self.rng, n_sets=n_sets, max_iter=s.iterations, tol=s.tol, callback=callback
        )
        # the gradient's noise may cost more than it brings: then the point stands
        if level(found) < elbo[0] - 3 * (error(found) + elbo[1]):
            return point._replace(converged=found.converged)
        return joined(point, found)

    def _refine(self, close: list[Point]) -> None:
        """Stage B from the best starts; hyperparameters once more where the best of them wants others."""
        reached: list[Point] = []
        for point in close:
            reached.append(self._natural_gradient(point, self.n_sets, (level(point), error(point))))
            self.points.append(max(reached, key=level))  # one by one, so that Ctrl-C loses none
        if self._update_hyperparameters(self.points[-1], least_change=0.25):
            # what was reached under the old target says nothing about the new one
            best = self.points[-1]
            self.points.append(self._natural_gradient(best, self.n_sets, self._elbo(best.theta, self.n_sets)))

    def _without_gains(self, theta: Float64Array) -> None:
        """Regression over the sampled sets, many of them; the prior size is learned half way."""
        point, n = Point(theta, np.zeros_like(theta), np.empty(0), np.empty(0), converged=False), 8 * self.n_sets
        point = self._kept(partial(self._natural_gradient, point, n, self._elbo(theta, n)))
        if self._update_hyperparameters(point):
            start = point._replace(elbo=np.empty(0), elbo_error=np.empty(0))
            self._kept(partial(self._natural_gradient, start, n, self._elbo(point.theta, n)))

    def _draw(self, theta: Float64Array, n: int) -> tuple[SetDistribution, list[IntArray], Float64Array]:
        """q_θ, sets from it, and log p(y, S) − log q(S) of each."""
        q = self.target.distribution(theta)
        sets = self.target.draw(q, n, self.rng)
        h = np.array([self.target.log_weight(S) - theta[S].sum() for S in sets])
        return q, sets, h + self.target.log_normalizer(q) - self.target.prior_log_normalizer

    def _elbo(self, theta: Float64Array, n: int) -> Estimate:
        log_ratios = self._draw(theta, n)[2]
        return float(log_ratios.mean()), float(log_ratios.std() / np.sqrt(n))

    def result(self, interrupted: bool) -> Fit:
        """The last point, judged by sets drawn from all of its q."""
        point = self.points[-1]
        q, sets, log_ratios = self._draw(point.theta, max(int(self._affordable(FINAL_SETS) * self._thrift), 100))
        return Fit(
            q=q,
            target=self.target.roughly(False),
            elbo=float(log_ratios.mean()),
            elbo_error=float(log_ratios.std() / np.sqrt(len(sets))),
            elbo_trace=point.elbo,
            converged=point.converged and not interrupted,
            interrupted=interrupted,
            sets=sets,
            log_ratios=log_ratios,
        )


def level(point: Point) -> float:
    """ELBO where the stage ended: the average of its last estimates."""
    return float(point.elbo[-last(point) :].mean())


def error(point: Point) -> float:
    """Standard error of `level`."""
    return float(np.sqrt(np.square(point.elbo_error[-last(point) :]).sum()) / last(point))


def last(point: Point) -> int:
    """How many estimates count as the last ones."""
    return min(max(4, len(point.elbo) // 3), len(point.elbo))


def distinct(points: list[Point]) -> list[Point]:
    """Points without those that have come where one before them is."""
    kept: list[Point] = []
    for point in points:
        if all(np.abs(point.inclusion - other.inclusion).max() > SAME_PLACE for other in kept):
            kept.append(point)
    return kept


def joined(first: Point, second: Point) -> Point:
    """The second point, with the trace of both."""
    return second._replace(
        elbo=np.concatenate([first.elbo, second.elbo]),
        elbo_error=np.concatenate([first.elbo_error, second.elbo_error]),
    )
