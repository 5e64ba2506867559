"""Several chains in parallel, until the Monte Carlo error of every probability is small enough."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...threads import allowed
from ...types import FloatArray, IntArray
from .errors import Averages, Batches
from .model import Draw, Model, Position
from .scope import draw_scope, scope_probabilities, survey
from .settings import ChainSettings
from .stretch import Pace, advance
from .workspace import Workspace

# Steps between draws of hyperparameters or auxiliary variables, and columns in scope. Two classes, N = 500, M = 2000,
# largest error after one second: 0.090 (40 steps, 512 features), 0.063 (60, 384), 0.069 (80, 384).
FLIPS, SCOPE = 60, 384
# In regression, up to this many columns are all in scope: the error after one second is the same as with 512 of 2000
# in scope, and the autocorrelation of |S| is 18 times smaller.
ALL = 2048
SAME_SCOPE = 2  # stretches per scope if auxiliary variables, and so Gram rows, change; otherwise one scope per lap
ROUNDS = 2  # updates of hyperparameters per stretch, if there are no auxiliary variables
# η times the number of features in scope: flips of improbable features for each flip of a member. 0.2 to 1 are equally
# good, 5 makes the mean error a sixth larger.
ATTENTION = 0.5
LAP = 1000  # approximate number of steps per chain in a lap
BURN_IN = 8  # laps of half the length; from the empty set, sizes of sets converge within one (N = 500, M = 2000)
EXPANDED = (0, 1, 3, 7)  # laps of burn-in after which a form of very many rows is expanded again
FEWEST = 8  # smallest number of laps after burn-in: four chains then have 32 batches
FEWEST_AUGMENTED = 16  # the same with auxiliary variables, which give chains a longer memory
PATIENCE = 1.15  # factor by which the number of laps grows between two checks of the errors
# After burn-in, one lap in this many ends with a survey. N = 2000, M = 10,000: 12.1 s of CPU if every lap does, 8.6 s
# with one in eight. Probabilities below 0.01 are then a little noisier: their mean distance from two other fits, which
# have errors of their own, is 0.00035 if every lap does, 0.00036 with one in four, 0.00037 with only the first of 37.
SURVEYED = 8
KEPT = 8  # sets kept per lap and chain
MOST_KEPT = 4000  # sets kept in all; when there are more, every second lap is dropped


Report: TypeAlias = Callable[[int, Averages], None]  # of the number of laps and the averages so far


class Lap(NamedTuple):
    """How a lap is run: the number of stretches, and whether all features are surveyed at its end."""

    pace: Pace
    stretches: int
    surveyed: bool = True


class Chains(NamedTuple):
    """The result of the chains after burn-in."""

    averages: Averages
    draws: list[Draw]
    visits: FloatArray  # (I, J) fraction of rounds at each pair of hyperparameters
    laps: int
    steps: int
    converged: bool
    interrupted: bool


@dataclass
class Runner:
    """One chain: its position, its random generator, and its sums over this lap."""

    model: Model
    position: Position
    rng: np.random.Generator
    same_scope: int  # stretches
    local: Workspace | None = None
    score: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start a lap."""
        M = self.model.target.n_features
        self.inclusion, self.weight = np.zeros(M), np.zeros(M)
        self.visits = np.zeros(self.model.grid.log_prior.shape)
        self.draws: list[Draw] = []
        self.steps = 0

    def run(self, scope: FloatArray | None, plan: Lap, stop: threading.Event) -> None:
        """Run a lap. `scope` holds the probabilities (M,) of being in scope; None if all features are."""
        self.reset()
        for t in range(plan.stretches):
            if stop.is_set():
                return
            self.local = self._workspace_at(t, scope)
            self.position, found = advance(self.local, self.position, plan.pace, self.rng)
            self.inclusion[found.features] += found.inclusion
            self.weight += found.weight  # also of features out of scope, which were not in the set
            self.visits += found.visits
            self.steps += found.steps
            if (t + 1) % max(1, plan.stretches // KEPT) == 0:
                self.draws.append(self.position.draw)
        if scope is not None:
            self.local = None  # its workspace is large, and the next lap has another scope
            if plan.surveyed:
                self._survey(plan.pace.time * plan.pace.rounds)

    def _workspace_at(self, t: int, scope: FloatArray | None) -> Workspace:
        """The features that can move in stretch t."""
        if self.local is not None and (scope is None or t % self.same_scope):
            return self.local
        S = self.position.S
        inside = np.ones(len(self.inclusion), dtype=bool) if scope is None else draw_scope(S, scope, self.rng)
        return Workspace.of(self.model, S, inside, scope)

    def _survey(self, weight: float) -> None:
        """Count every feature once more, whether or not it was in scope."""
        found = survey(self.model, self.position)
        self.score = found.score
        if self.model.augments:
            known = np.isfinite(found.probability) & self.model.free
            self.inclusion[known] += weight * found.probability[known]
            self.weight[known] += weight


def run_chains(
    model: Model,
    starts: Sequence[IntArray],
    rng: np.random.Generator,
    settings: ChainSettings,
    callback: Report | None = None,
) -> Chains:
    """Run burn-in, then laps. Results depend on the generator and the starts, not on the number of threads.

    On Ctrl-C the laps so far are returned; if there are fewer than two, KeyboardInterrupt is raised.
    """
    runners, n, plan = _at_start(model, starts, rng)
    scope, pace = _burn_in(runners, n, plan)
    laps = count()

    def lap() -> tuple[FloatArray, FloatArray]:
        _lap(runners, scope, Lap(pace, plan.stretches, model.augments and next(laps) % SURVEYED == 0))
        return np.stack([r.inclusion for r in runners]), np.stack([r.weight for r in runners])

    fewest = FEWEST if runners[0].position.auxiliary is None else FEWEST_AUGMENTED
    return average_laps(model, runners, lap, settings, fewest, counted=not model.augments, report=callback)


def average_laps(
    model: Model,
    runners: Sequence[Any],
    lap: Callable[[], tuple[FloatArray, FloatArray]],
    settings: ChainSettings,
    fewest: int,
    *,
    counted: bool,
    report: Report | None,
) -> Chains:
    """Run laps, which return sums of probabilities and of weights (chains, M), until the errors are small enough."""
    batches, kept = Batches(len(runners), model.target.n_features, counted=counted), _Kept(model)
    interrupted, check = False, fewest
    try:
        while batches.laps < settings.max_laps:
            batches.add(*lap())
            kept.add(runners)
            if batches.laps < check:
                continue
            check = int(np.ceil(PATIENCE * batches.laps))
            averages = batches.averages()
            if report is not None:
                report(batches.laps, averages)
            if averages.error.max() <= settings.tol:
                break
    except KeyboardInterrupt:
        if batches.laps < 2:
            raise
        interrupted = True
    averages = batches.averages()
    averages.inclusion[model.included] = 1.0
    converged = bool(averages.error.max() <= settings.tol) and not interrupted
    return Chains(
        averages, kept.draws, kept.visits / kept.visits.sum(), batches.laps, kept.steps, converged, interrupted
    )


def _at_start(model: Model, starts: Sequence[IntArray], rng: np.random.Generator) -> tuple[list[Runner], int, Lap]:
    """The chains at their starts, the number of features in scope, and how a lap is run at first."""
    M, children = model.target.n_features, rng.spawn(len(starts))
    positions = [model.at_start(S, child) for S, child in zip(starts, children, strict=True)]
    changing = model.augments and positions[0].auxiliary is not None
    columns = int(model.target.widths.sum())
    n = SCOPE * M // columns if changing or columns > ALL else M
    n = max(n, 1, 4 * max(len(S) for S in starts))  # features may have more than SCOPE columns
    if n >= M and positions[0].auxiliary is None:
        model = model.complete()
    elif n >= M and not model.augments and model.is_tall:
        auxiliary = model.expanded(list(starts), positions[0].at[1])
        positions = [position._replace(auxiliary=auxiliary) for position in positions]
        model = model.complete(auxiliary)
    pace = Pace(ATTENTION / min(n, M), 1.0, ROUNDS if positions[0].auxiliary is None else 1)
    stretches = max(1, LAP // (FLIPS * pace.rounds))
    same = SAME_SCOPE if changing else stretches
    runners = [Runner(model.own(), p, child, same) for p, child in zip(positions, children, strict=True)]
    return runners, n, Lap(pace, stretches)


def _burn_in(runners: list[Runner], n: int, plan: Lap) -> tuple[FloatArray | None, Pace]:
    """Run laps that do not count, to choose the time of a round and the features in scope."""
    M, pace, stretches = runners[0].model.target.n_features, plan.pace, max(1, plan.stretches // 2)
    scores = [survey(r.model, r.position).score for r in runners] if n < M else []
    scope = scope_probabilities(np.mean(scores, axis=0), n) if n < M else None
    for lap in range(BURN_IN):
        # the first expansions are around the starting sets: accept all moves until the form fits the posterior
        pace = pace._replace(trusting=lap < BURN_IN // 2)
        _lap(runners, scope, Lap(pace, stretches))
        flips = max(float(np.mean([r.steps for r in runners])) / (stretches * pace.rounds), 1.0)
        pace = pace._replace(time=pace.time * float(np.clip(FLIPS / flips, 0.25, 4.0)))
        if not runners[0].model.augments and (runners[0].model.shared is None or lap in EXPANDED):
            _expand(runners)
        if scope is not None:
            scores += [r.score for r in runners]
            scope = scope_probabilities(np.mean(scores, axis=0), n)
    if scope is None and not runners[0].model.augments and runners[0].model.shared is None:
        _share(runners)
    return scope, pace


def _expand(runners: list[Runner]) -> None:
    """Expand the quadratic form around the sets seen so far, the same form for all chains."""
    at = int(np.median([r.position.at[1] for r in runners]))
    sets = [draw.S for r in runners for draw in [*r.draws, r.position.draw]]
    auxiliary = runners[0].model.expanded(sets, at)
    for r in runners:
        r.position, r.local = r.position._replace(auxiliary=auxiliary, excess=None), None
    if runners[0].model.shared is not None:
        _share(runners)


def _share(runners: list[Runner]) -> None:
    """Compute all Gram matrices of the last expansion, once for all chains."""
    shared = runners[0].model.complete(runners[0].position.auxiliary).shared
    for r in runners:
        r.model, r.local = replace(r.model, shared=shared), None


def _lap(runners: list[Runner], scope: FloatArray | None, plan: Lap) -> None:
    stop = threading.Event()
    threads = min(allowed(), len(runners))
    if threads == 1:
        for r in runners:
            r.run(scope, plan, stop)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            list(pool.map(lambda r: r.run(scope, plan, stop), runners))
        except BaseException:
            stop.set()
            raise


class _Kept:
    """Sets and hyperparameters that the chains visited."""

    def __init__(self, model: Model) -> None:
        self.laps: list[list[Draw]] = []
        self.visits = np.zeros(model.grid.log_prior.shape)
        self.steps, self.every, self.seen = 0, 1, 0

    def add(self, runners: Sequence[Any]) -> None:
        """Keep a lap."""
        self.visits += sum(r.visits for r in runners)
        self.steps += sum(r.steps for r in runners)
        if self.seen % self.every == 0:
            self.laps.append([draw for r in runners for draw in r.draws])
        self.seen += 1
        if sum(map(len, self.laps)) > MOST_KEPT and len(self.laps) > 1:
            self.laps, self.every = self.laps[::2], 2 * self.every

    @property
    def draws(self) -> list[Draw]:
        """All draws kept, in order."""
        return [draw for lap in self.laps for draw in lap]
