"""Several chains side by side, until the Monte Carlo error of every probability is small enough."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...threads import allowed
from ...types import FloatArray, IntArray
from .errors import Averages, Batches
from .model import Local, Model, Pace, Position
from .scope import draw_scope, scope_probabilities, survey

# Steps between new hyperparameters or auxiliary variables, and columns in scope. Two classes, N = 500, M = 2000,
# largest error after a second: 0.090 (40 steps, 512 features), 0.063 (60, 384), 0.069 (80, 384).
FLIPS, SCOPE = 60, 384
# Regression with up to this many columns has them all in scope: as much error after a second as with 512 of 2000, and
# an eighteenth of the autocorrelation of |S|.
ALL = 2048
SAME_SCOPE = 2  # stretches, where auxiliary variables change and Gram rows with them, else a lap
ROUNDS = 2  # of new hyperparameters in a stretch, where there are no auxiliary variables
# η times the features in scope, visits to features that look useless for one to each member: 0.2 to 1 do as well, 5
# makes the mean error a sixth larger.
ATTENTION = 0.5
LAP = 1000  # steps of a chain in a lap, about
BURN_IN = 8  # laps of half the length; from the empty set, sizes of sets settle within one (N = 500, M = 2000)
FEWEST = 8  # laps after them, so that four chains have 32 batches,
FEWEST_AUGMENTED = 16  # and more where auxiliary variables give chains a longer memory
PATIENCE = 1.15  # factor by which laps grow between two looks at the errors
KEPT = 8  # sets of a lap that are kept


class Limits(NamedTuple):
    """When to stop: at an error of `tol` for every feature, or after `max_laps`."""

    tol: float
    max_laps: int


class Chains(NamedTuple):
    """What the chains saw after their burn-in."""

    averages: Averages
    sets: list[IntArray]
    at: IntArray  # (n, 2) hyperparameters of each set, as positions on the grid
    visits: FloatArray  # (I, J) share of the rounds at each pair of hyperparameters
    laps: int
    steps: int
    converged: bool
    interrupted: bool


@dataclass
class Runner:
    """One chain: where it is, its own random numbers, and what it has seen in this lap."""

    model: Model
    position: Position
    rng: np.random.Generator
    same_scope: int  # stretches
    local: Local | None = None
    score: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a lap."""
        M = self.model.target.n_features
        self.inclusion, self.weight = np.zeros(M), np.zeros(M)
        self.visits = np.zeros(self.model.grid.log_prior.shape)
        self.sets: list[tuple[IntArray, tuple[int, int]]] = []
        self.steps = 0

    def run(self, scope: FloatArray | None, pace: Pace, stretches: int, stop: threading.Event) -> None:
        """A lap. `scope` holds the probabilities (M,) to be in scope, None where all features are."""
        self.reset()
        for t in range(stretches):
            if stop.is_set():
                return
            self._look_around(scope, t)
            self.position, found = self.model.advance(self.position, self.local, pace, self.rng)  # type: ignore[arg-type]
            self.inclusion[found.features] += found.inclusion
            self.weight += found.weight  # of the others none was in the set
            self.visits += found.visits
            self.steps += found.steps
            if (t + 1) % max(1, stretches // KEPT) == 0:
                self.sets.append((self.position.S, self.position.at))
        if scope is not None:
            self.local = None  # its workspace is large, and the next lap has another scope
            self._survey(pace.time * pace.rounds)

    def _look_around(self, scope: FloatArray | None, t: int) -> None:
        if scope is None and self.local is None:
            self.local = self.model.local(self.position.S, np.ones(len(self.inclusion), dtype=bool))
        elif scope is not None and t % self.same_scope == 0:
            inside = draw_scope(self.position.S, scope, self.rng)
            self.local = self.model.local(self.position.S, inside, scope)

    def _survey(self, weight: float) -> None:
        """Count every feature once more, so that none depends on its turns in scope alone."""
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
    limits: Limits,
    callback: Callable[[int, Averages], None] | None = None,
) -> Chains:
    """Burn in, then lap after lap. Results depend on the generator and the starts, not on the number of threads.

    On Ctrl-C the laps so far are returned; without two of them KeyboardInterrupt goes on its way.
    """
    M, children = model.target.n_features, rng.spawn(len(starts))
    positions = [model.at_start(S, child) for S, child in zip(starts, children, strict=True)]
    changing = positions[0].auxiliary is not None
    columns = int(model.likelihood.widths.sum())  # what a step costs grows with them
    n = SCOPE * M // columns if changing or columns > ALL else M
    n = max(n, 4 * max(len(S) for S in starts))
    if n >= M and not changing:
        model = model.complete()
    pace = Pace(ATTENTION / min(n, M), 1.0, 1 if changing else ROUNDS)
    stretches = max(1, LAP // (FLIPS * pace.rounds))
    same = SAME_SCOPE if changing else stretches
    runners = [Runner(model.own(), p, child, same) for p, child in zip(positions, children, strict=True)]
    scope, pace = _burn_in(runners, n, pace, max(1, stretches // 2))
    batches, kept = Batches(len(runners), M), _Kept(model)
    interrupted, check = False, FEWEST_AUGMENTED if changing else FEWEST
    try:
        while batches.laps < limits.max_laps:
            _lap(runners, scope, pace, stretches)
            batches.add(np.stack([r.inclusion for r in runners]), np.stack([r.weight for r in runners]))
            kept.add(runners)
            if batches.laps < check:
                continue
            check = int(np.ceil(PATIENCE * batches.laps))
            averages = batches.averages()
            if callback is not None:
                callback(batches.laps, averages)
            if averages.error.max() <= limits.tol:
                break
    except KeyboardInterrupt:
        if batches.laps < 2:
            raise
        interrupted = True
    averages = batches.averages()
    averages.inclusion[model.included] = 1.0
    converged = bool(averages.error.max() <= limits.tol) and not interrupted
    return Chains(
        averages, *kept.sets(), kept.visits / kept.visits.sum(), batches.laps, kept.steps, converged, interrupted
    )


def _burn_in(runners: list[Runner], n: int, pace: Pace, stretches: int) -> tuple[FloatArray | None, Pace]:
    """Laps that do not count; from them the time of a round and the features in scope."""
    M = runners[0].model.target.n_features
    scores = [survey(r.model, r.position).score for r in runners] if n < M else []
    scope = scope_probabilities(np.mean(scores, axis=0), n) if n < M else None
    for _ in range(BURN_IN):
        _lap(runners, scope, pace, stretches)
        flips = max(float(np.mean([r.steps for r in runners])) / (stretches * pace.rounds), 1.0)
        pace = pace._replace(time=pace.time * float(np.clip(FLIPS / flips, 0.25, 4.0)))
        if not runners[0].model.augments:
            _expand(runners)
        if scope is not None:
            scores += [r.score for r in runners]
            scope = scope_probabilities(np.mean(scores, axis=0), n)
    return scope, pace


def _expand(runners: list[Runner]) -> None:
    """A quadratic form around the posterior as the chains know it by now, the same for all."""
    at = int(np.median([r.position.at[1] for r in runners]))
    sets = [S for r in runners for S, _ in [*r.sets, (r.position.S, None)]]
    auxiliary = runners[0].model.expanded(sets, at)
    for r in runners:
        r.position, r.local = r.position._replace(auxiliary=auxiliary, excess=None), None


def _lap(runners: list[Runner], scope: FloatArray | None, pace: Pace, stretches: int) -> None:
    stop = threading.Event()
    threads = min(allowed(), len(runners))
    if threads == 1:
        for r in runners:
            r.run(scope, pace, stretches, stop)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            list(pool.map(lambda r: r.run(scope, pace, stretches, stop), runners))
        except BaseException:
            stop.set()
            raise


class _Kept:
    """Sets and hyperparameters that the chains came by."""

    MOST = 4000  # sets, of which every second is dropped when there are more

    def __init__(self, model: Model) -> None:
        self.laps: list[list[tuple[IntArray, tuple[int, int]]]] = []
        self.visits = np.zeros(model.grid.log_prior.shape)
        self.steps, self.every, self.seen = 0, 1, 0

    def add(self, runners: list[Runner]) -> None:
        """Keep a lap."""
        self.visits += sum(r.visits for r in runners)
        self.steps += sum(r.steps for r in runners)
        if self.seen % self.every == 0:
            self.laps.append([pair for r in runners for pair in r.sets])
        self.seen += 1
        if sum(map(len, self.laps)) > self.MOST and len(self.laps) > 1:
            self.laps, self.every = self.laps[::2], 2 * self.every

    def sets(self) -> tuple[list[IntArray], IntArray]:
        """The sets, and their positions on the grid."""
        pairs = [pair for lap in self.laps for pair in lap]
        return [S for S, _ in pairs], np.array([at for _, at in pairs], dtype=np.int64)
