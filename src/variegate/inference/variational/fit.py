"""The variational driver: starts, hyperparameters, stages, and the best result."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from ...dpp import SetDistribution
from ...sets import NOTHING
from ...types import FloatArray, IntArray
from ..progress import Callback, ConvergenceWarning
from ..target import Target
from . import tuning
from .empirical_bayes import learn_size, learn_slab_precision
from .fixed_form import Covariance, fixed_form
from .points import Point, distinct
from .proposal import propose
from .rao_blackwell import fixed_point, natural_gradient
from .result import Fit
from .starts import best_set, feasible, flat_start, later_starts, start_at

Estimate: TypeAlias = tuple[float, float]  # value and standard error
LEVEL = attrgetter("level")  # ELBO of a point, to sort by


@dataclass(frozen=True)
class Settings:
    """Solver effort and stopping rule; `learn_size` and `learn_slab` switch empirical Bayes on.

    fixed_form spends up to half of its iterations on learning; the second half uses the learned hyperparameters.

    >>> Settings(n_starts=1, max_iter=200).iterations
    200
    >>> Settings(solver="fixed_form").iterations
    4000
    """

    solver: Literal["rao_blackwell", "fixed_form"] = "rao_blackwell"
    n_starts: int = 4  # at most; above 256 features, stop after the first start that does not improve
    n_sets: int | None = None  # sets per iteration of stage B; None: 16 to 256, depending on their cost
    max_iter: int | None = None  # None: 60 for stage B, 4000 for fixed_form
    tol: float = 0.005
    learn_size: bool = True
    learn_slab: bool = True
    covariance: Covariance = "empirical"  # C of fixed_form: averaged over draws, or in closed form (free size only)

    def __post_init__(self) -> None:
        if self.solver not in ("rao_blackwell", "fixed_form"):
            raise ValueError(
                f'solver must be "rao_blackwell" or "fixed_form", got {self.solver!r}; '
                "for the exact chain call sample."
            )
        if self.covariance not in ("empirical", "closed"):
            raise ValueError(f'covariance must be "empirical" or "closed", got {self.covariance!r}.')
        for name in ("n_starts", "n_sets", "max_iter"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value >= 1):
                raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}.")
        if not self.tol >= 0:  # or nan
            raise ValueError(f"tol must be a number of nats, at least 0, got {self.tol!r}.")

    @property
    def iterations(self) -> int:
        """max_iter, or the solver's default."""
        return self.max_iter or (4000 if self.solver == "fixed_form" else 60)


def fit(
    target: Target,
    rng: np.random.Generator | int | None,
    settings: Settings | None = None,
    *,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> Fit:
    """Fit q to the target by maximising the ELBO; `rng` is a generator or a seed.

    `start` (M,) is a warm start of θ, which replaces all other starts. On Ctrl-C the best point so far is returned,
    with a warning; before the first point, KeyboardInterrupt is raised. `callback` is called with a `Progress` after
    every iteration (every 50 of fixed_form).

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
            raise ValueError(f"start must hold {target.n_features} finite numbers, one per feature, got {start!r}.")
        start = feasible(target, start)
    search = _Search(target.roughly(True), np.random.default_rng(rng), settings or Settings(), callback)
    interrupted = False
    # on many small matrices BLAS threads wait for each other longer than they compute
    with threadpool_limits(1, user_api="blas"):
        try:
            search.run(start)
        except KeyboardInterrupt:
            if search.answer is None:
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
    """The state of one fit: the target with the hyperparameters learned so far, and the best point so far."""

    target: Target
    rng: np.random.Generator
    settings: Settings
    callback: Callback | None
    best: Point | None = None  # of completed stages
    current: Point | None = None  # of the running stage

    @property
    def answer(self) -> Point | None:
        """The result if the search stopped now."""
        return self.current if self.best is None else self.best

    def run(self, start: FloatArray | None) -> None:
        """Run all stages."""
        if self.settings.solver == "fixed_form":
            self._printed(flat_start(self.target) if start is None else start)
        elif self.target.has_gains:
            self._rao_blackwell(start)
        else:
            self._without_gains(flat_start(self.target) if start is None else start)

    def _run(self, stage: Iterator[Point], before: Point | None = None) -> Point:
        """Run a stage to its end, reporting progress and keeping the current point for Ctrl-C."""
        for point in stage:
            if self.callback is not None:
                self.callback(point.progress())
            self.current = point.after(before)
        return self.current  # type: ignore[return-value]

    def _printed(self, theta: FloatArray) -> None:
        """Run Algorithm 1; hyperparameters are learned after the first and the second quarter."""
        left, point = self.settings.iterations, None
        learn = left >= 8 and (self.settings.learn_size or self.settings.learn_slab)
        for n in (left // 4, left // 4) if learn else ():
            point = self._algorithm_1(theta, n, point)
            theta = point.theta
            left -= n
            if not self._update_hyperparameters(point, tuning.FIRST_CHANGE):
                break
        self._algorithm_1(theta, left, point)

    def _algorithm_1(self, theta: FloatArray, n_iter: int, before: Point | None) -> Point:
        C = self.settings.covariance
        return self._run(fixed_form(self.target, theta, self.rng, n_iter=n_iter, covariance=C), before)

    def _without_gains(self, theta: FloatArray) -> None:
        """Run stage B on the covariance over many sampled sets; if hyperparameters change, run it again."""
        n = tuning.WITHOUT_GAINS * tuning.n_sets(self.target, self.settings.n_sets)
        point = self._stage_b(_at(theta), n, self._elbo(theta, n))
        if self._update_hyperparameters(point, tuning.FIRST_CHANGE):
            point = self._stage_b(point, n, self._elbo(point.theta, n))
        self.best = point

    def _rao_blackwell(self, start: FloatArray | None) -> None:
        others = 0 if start is not None else self.settings.n_starts - 1
        reached = [self._learn(start_at(self.target, self._best_set()) if start is None else start)]
        for theta in later_starts(self.target, others, self.rng):
            reached.append(self._stage_a(theta, tuning.STAGE_A))
            self.best = max(reached, key=LEVEL)
            if not tuning.few(self.target) and self.best is not reached[-1]:
                break  # see tuning.FEW_FEATURES
        refined: list[Point] = []
        for point in distinct(sorted(reached, key=LEVEL, reverse=True))[: tuning.n_refined(self.target)]:
            refined.append(self._stage_b(point, self._n_sets, (point.level, point.error)))
            self.best = max(refined, key=LEVEL)  # after each, for Ctrl-C
        best = max(refined, key=LEVEL)
        if self._update_hyperparameters(best, tuning.LAST_CHANGE):
            # the target has changed, so the level of `best` is no longer comparable
            self.best = self._stage_b(best, self._n_sets, self._elbo(best.theta, self._n_sets))

    @property
    def _n_sets(self) -> int:
        return tuning.n_sets(self.target, self.settings.n_sets)

    def _best_set(self) -> IntArray:
        """The target's most probable set, and hyperparameters learned from it."""
        S = NOTHING
        for _ in range(tuning.ROUNDS):
            S = best_set(self.target, S)
            if not self._learn_from(len(S), [S], tuning.FIRST_CHANGE):
                break
        return S

    def _learn(self, theta: FloatArray) -> Point:
        """Alternate stage A and empirical Bayes until the hyperparameters stop changing."""
        for left in reversed(range(tuning.ROUNDS)):
            self.best = self._stage_a(theta, tuning.first_iterations(self.target))
            theta = self.best.theta
            # no update in the last round: later starts are compared with this point under the same target
            if not (left and self._update_hyperparameters(self.best, tuning.FIRST_CHANGE)):
                break
        return self.best  # type: ignore[return-value]

    def _stage_a(self, theta: FloatArray, max_iter: int) -> Point:
        n = max(self._n_sets // 4, 2)
        return self._run(fixed_point(self.target, theta, self.rng, n, max_iter, self.settings.tol))

    def _stage_b(self, point: Point, n_sets: int, elbo: Estimate) -> Point:
        """Stage B from a point whose ELBO under the current target is `elbo`."""
        s, known = self.settings, point if len(point.elbo) else None
        found = self._run(natural_gradient(self.target, point, self.rng, n_sets, s.iterations, s.tol))
        # noise may make the result worse than the start, which is then kept
        if found.level < elbo[0] - 3 * (found.error + elbo[1]):
            return point._replace(converged=found.converged)
        return found.after(known)

    def _update_hyperparameters(self, point: Point, least_change: float) -> bool:
        """Learn hyperparameters at a point; return whether any changed."""
        n = tuning.affordable(self.target, tuning.SLAB_SETS)
        sets = propose(self.target, point.theta, point.inclusion).draw(n, self.rng) if self.settings.learn_slab else []
        return self._learn_from(float(point.inclusion.sum()), sets, least_change)

    def _learn_from(self, size: float, sets: list[IntArray], least_change: float) -> bool:
        before = self.target
        if self.settings.learn_size and self.target.size is None:
            self.target = learn_size(self.target, size, least_change)
        if self.settings.learn_slab:
            self.target = learn_slab_precision(self.target, sets, 2 * least_change)
        return self.target is not before

    def _draw(self, theta: FloatArray, n: int) -> tuple[SetDistribution, list[IntArray], FloatArray]:
        """q_θ, n sets from it, and log p(y, S) − log q(S) of each."""
        q = self.target.distribution(theta)
        sets = self.target.draw(q, n, self.rng)
        return q, sets, self.target.log_ratios(q, sets)

    def _elbo(self, theta: FloatArray, n: int) -> Estimate:
        log_ratios = self._draw(theta, n)[2]
        return float(log_ratios.mean()), float(log_ratios.std() / np.sqrt(n))

    def result(self, interrupted: bool) -> Fit:
        """The result, with its ELBO from fresh sets drawn from q over all features."""
        point: Point = self.answer  # type: ignore[assignment]
        q, sets, log_ratios = self._draw(point.theta, tuning.affordable(self.target, tuning.FINAL_SETS))
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


def _at(theta: FloatArray) -> Point:
    """A point at θ without a trace."""
    return Point(theta, np.zeros_like(theta), np.empty(0), np.empty(0))
