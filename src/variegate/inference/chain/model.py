"""The target as the chain sees it, and one stretch of the chain."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from ...likelihoods import AugmentedLikelihood, ExpandedLikelihood, QuadraticLikelihood
from ...likelihoods.protocol import Predictor
from ...types import FloatArray, IntArray
from ..local_search import NOTHING
from ..target import Target
from .evidence import draw_size, log_evidence, pick_log
from .kernel import simulate
from .problem import Grid, Problem, State
from .system import DIAGONAL, INFORMATION


class Position(NamedTuple):
    """Where a chain is: the set, the auxiliary variables of the likelihood, and the place on the grid."""

    S: IntArray
    auxiliary: Any
    at: tuple[int, int]
    excess: float | None = None  # log evidence over that of the quadratic form, where that is an approximation


class Pace(NamedTuple):
    """How a stretch is run: the rate of features that look useless, and rounds of so much time."""

    eta: float
    time: float
    rounds: int


class Stretch(NamedTuple):
    """What a stretch of the chain adds to the averages."""

    features: IntArray  # (n,) that were in scope
    inclusion: FloatArray  # (n,) probabilities to be in, summed
    weight: float  # of these sums: `inclusion` over this are probabilities
    visits: FloatArray  # (I, J) rounds at each pair of hyperparameters
    steps: int


@dataclass(frozen=True, eq=False)
class Model:
    """p(S, hyperparameters, auxiliary variables | y), under conditions."""

    target: Target
    grid: Grid
    included: IntArray = field(default_factory=lambda: NOTHING)
    excluded: IntArray = field(default_factory=lambda: NOTHING)
    shared: tuple[FloatArray, npt.NDArray[np.bool_]] | None = None

    @property
    def likelihood(self) -> QuadraticLikelihood:
        """The target's likelihood."""
        return cast(QuadraticLikelihood, self.target.likelihood)  # which `sample` has checked

    @cached_property
    def augments(self) -> bool:
        """Whether the form is exact given auxiliary variables; else moves on it are accepted by the evidence."""
        return isinstance(self.target.likelihood, AugmentedLikelihood) and self.target.likelihood.can_augment

    def at_start(self, S: IntArray, rng: np.random.Generator) -> Position:
        """The first position of a chain."""
        i = len(self.grid.log_kappa) // 3
        at = (i, int(np.argmax(self.grid.log_prior[i])))
        return Position(S, self._auxiliary_at(S, at[1], rng) if self.augments else self.expanded([S], at[1]), at)

    def _auxiliary_at(self, S: IntArray, j: int, rng: np.random.Generator) -> Any:
        predictor = self._predictor(S, j, None, rng)
        return None if predictor is None else predictor.auxiliary(1.0, rng)

    def refreshed(self, position: Position, rng: np.random.Generator) -> Position:
        """New auxiliary variables, and a slab precision given the coefficients in units of the slab.

        The kernel draws the slab precision given the auxiliary variables, which know how large the coefficients are:
        where few rows of separable classes leave that open, the two hold each other in place. Drawing it both ways
        (Yu & Meng 2011) does not: standard deviation of z-scores 3.6 without, 1.0 with it (30 rows, 5 columns).
        """
        (i, j), log_c = position.at, self.grid.log_c
        predictor = self._predictor(position.S, j, position.auxiliary, rng)
        if predictor is None:
            return position
        scales = np.exp(0.5 * (log_c[j] - log_c))
        new = int(pick_log(predictor.log_densities(scales) + self.grid.log_prior[i], rng)) if len(log_c) > 1 else j
        return position._replace(auxiliary=predictor.auxiliary(float(scales[new]), rng), at=(i, new))

    def _predictor(self, S: IntArray, j: int, auxiliary: Any, rng: np.random.Generator) -> Predictor | None:
        return cast(AugmentedLikelihood, self.likelihood).draw_predictor(S, self._slab(j), auxiliary, rng)

    def expanded(self, sets: list[IntArray], j: int) -> Any:
        """The quadratic form around the posterior, as some of its sets know it."""
        return cast(ExpandedLikelihood, self.likelihood).expand(sets, self._slab(j))

    def _slab(self, j: int) -> float:
        return float(np.exp(self.grid.log_c[j]))

    @cached_property
    def free(self) -> npt.NDArray[np.bool_]:
        """Features (M,) that may come and go."""
        free = np.isfinite(self.tilt)
        free[self.included] = free[self.excluded] = False
        return free

    @cached_property
    def tilt(self) -> FloatArray:
        """Log-odds of the prior (M,) without ν between features; −inf for those that it never lets in."""
        theta = self.target.prior.theta
        return theta + 2 * self.target.volume.log_norms if self.target.prior_has_volume else theta

    def own(self) -> Self:
        """The same for one chain: evidences that start from those of earlier sets must not depend on other chains."""
        return self if self.augments else replace(self, target=self.target.roughly(True).roughly(False))

    def complete(self) -> Self:
        """The same with all Gram matrices, for chains to share, in which all features are always in scope."""
        features = np.arange(self.target.n_features)
        Z = self.likelihood.columns_of(features)
        forms = self.likelihood.quadratic_forms(features, Z, None)
        gram = np.empty((self.likelihood.n_outcomes + self.target.prior_has_volume, len(Z), len(Z)))
        for k, form in enumerate(forms):
            gram[k] = form.rows(Z, np.arange(len(Z)))
        if self.target.prior_has_volume:
            units = self.target.volume.units(features)
            gram[-1, : len(units), : len(units)] = units @ units.T
        return replace(self, shared=(gram, np.ones(gram.shape[:2], dtype=bool)))

    def independent(self, candidates: IntArray, wanted: int) -> IntArray:
        """The first `wanted` candidates that the prior lets be together, as a sorted set."""
        if not self.target.prior_has_volume:
            return np.sort(candidates[:wanted])
        chosen: list[int] = []
        for m in candidates:
            if len(chosen) == wanted:
                break
            if self.target.volume.log_volume(np.array([*chosen, m])) > -np.inf:
                chosen.append(int(m))
        return np.sort(np.array(chosen, dtype=np.int64))

    def possible(self, S: IntArray, rng: np.random.Generator) -> IntArray:
        """S as a start under the conditions: what the prior lets be together, of the right size."""
        first = np.concatenate([self.included, np.setdiff1d(S, self.included)])
        if self.target.size is None:
            return self.independent(first, len(first))
        others = np.setdiff1d(np.flatnonzero(self.free), first)
        return self.independent(np.concatenate([first, rng.permutation(others)]), self.target.size)

    def local(self, S: IntArray, inside: npt.NDArray[np.bool_], scope: FloatArray | None = None) -> "Local":
        """The features `inside` (M,) the scope, drawn with the probabilities `scope` (M,), among them those of S."""
        movable = inside & self.free
        here = movable | _mask(S, len(movable)) if self.shared is None else np.ones(len(movable), dtype=bool)
        features = np.flatnonzero(here)
        widths = self.likelihood.widths[features]
        n, C, has_volume = len(features), int(widths.sum()), self.target.prior_has_volume
        K = self.likelihood.n_outcomes + has_volume
        gram, known = self.shared or (np.empty((K, C, C)), np.zeros((K, C), dtype=bool))
        local = Local(
            features=features,
            movable=movable[features],
            first=np.concatenate([[0], np.cumsum(widths)]),
            columns=self.likelihood.columns_of(features),
            units=self.target.volume.units(features) if has_volume else np.empty((n, 0)),
            tilt=self.tilt[features] - (0.0 if scope is None else np.log(scope[features])),
            gram=gram,
            known=known,
            vectors=np.zeros((K, 5, C)),
            tables=np.empty((K, 3, C, C)),
        )
        if has_volume:
            local.vectors[-1, DIAGONAL, :n] = 1.0
        return local

    def advance(
        self, position: Position, local: "Local", pace: Pace, rng: np.random.Generator
    ) -> tuple[Position, Stretch]:
        """One stretch, in which only features in scope move, and then new auxiliary variables."""
        return (
            self._augmented(position, local, pace, rng) if self.augments else self._tried(position, local, pace, rng)
        )

    def _augmented(
        self, position: Position, local: "Local", pace: Pace, rng: np.random.Generator
    ) -> tuple[Position, Stretch]:
        problem, state = self.problem(local, position), local.state(position.S)
        inclusion, visits = np.zeros(len(local.features)), np.zeros(self.grid.log_prior.shape)
        i, j, steps, weight = simulate(
            problem, state, self.grid, position.at, self._plan(pace), inclusion, visits, rng
        )  # fmt: skip
        S, moved = local.members(state), local.movable
        end = self.refreshed(Position(S, position.auxiliary, (i, j)), rng)
        return end, Stretch(local.features[moved], inclusion[moved], weight, visits, steps)

    def _tried(
        self, position: Position, local: "Local", pace: Pace, rng: np.random.Generator
    ) -> tuple[Position, Stretch]:
        """A stretch on the form, whose end is accepted or not, and then other hyperparameters.

        Only the stretch is on the form: with new hyperparameters in it, the moves there and back would not be alike.
        The path was the form's; its end is the posterior's, and that is what counts.
        """
        problem, state, (i, j) = self.problem(local, position), local.state(position.S), position.at
        here = Grid(self.grid.log_kappa[i : i + 1], np.zeros(1), self.grid.log_c[j : j + 1], np.zeros((1, 1)))
        path, unused = np.zeros(len(local.features)), np.zeros((1, 1))
        _, _, steps, _ = simulate(problem, state, here, (0, 0), self._plan(pace), path, unused, rng)
        if position.excess is None:
            position = position._replace(excess=self._excess(position, local, problem))
        new = position._replace(S=local.members(state))
        end = _accepted(position, new, self._excess(new, local, problem), 0.0, rng)
        if len(self.grid.log_kappa) > 1:
            end = end._replace(at=(int(draw_size(len(end.S), self.grid, j, rng)), j))
        end = self._other_slab(end, local, problem, rng)
        visits = np.zeros(self.grid.log_prior.shape)
        visits[end.at] = 1.0
        moved = local.features[local.movable]
        return end, Stretch(moved, np.isin(moved, end.S).astype(np.float64), 1.0, visits, steps)

    def _other_slab(self, position: Position, local: "Local", problem: Problem, rng: np.random.Generator) -> Position:
        """A slab precision nearby, accepted by the evidence."""
        i, j = position.at
        k = j + int(rng.choice([-2, -1, 1, 2]))
        if not 0 <= k < len(self.grid.log_c):
            return position
        new = position._replace(at=(i, k))
        state, excess = local.state(position.S), self._excess(new, local, problem)
        form = log_evidence(problem, state, self._slab(k)) - log_evidence(problem, state, self._slab(j))
        return _accepted(position, new, excess, form + self.grid.log_prior[i, k] - self.grid.log_prior[i, j], rng)

    def _excess(self, position: Position, local: "Local", problem: Problem) -> float:
        """Log evidence over that of the form."""
        c = self._slab(position.at[1])
        exact = self.likelihood.with_slab_precision(c).log_evidence(position.S)
        return float(exact - log_evidence(problem, local.state(position.S), c))

    def _plan(self, pace: Pace) -> tuple[float, float, int, bool]:
        return pace.eta, pace.time, pace.rounds, self.target.size is not None

    def problem(self, local: "Local", position: Position) -> Problem:
        """Write the forms, given the auxiliary variables, into the workspace."""
        forms = self.likelihood.quadratic_forms(local.features, local.columns, position.auxiliary)
        if position.auxiliary is not None and self.augments:  # else rows that were learned stay valid
            local.known[: len(forms)] = False
        needed = local.needed(position.S)
        for k, form in enumerate(forms):
            local.vectors[k, DIAGONAL], local.vectors[k, INFORMATION] = form.diagonal, form.information
            new = needed[~local.known[k, needed]]
            local.gram[k, new] = form.rows(local.columns, new)  # in one product
            local.known[k, new] = True
        return Problem(
            gram=local.gram,
            known=local.known,
            vectors=local.vectors,
            tables=local.tables,
            members=np.empty(local.known.shape, dtype=np.int64),
            columns=local.columns,
            units=local.units,
            precision=np.stack([form.precision for form in forms]),
            fixed=_stacked([form.fixed for form in forms]),
            first=local.first,
            tilt=local.tilt,
            noise=np.array([[form.shape, form.rate, form.floor] for form in forms]),
            movable=local.movable,
            nugget=self.target.volume.nugget if self.target.prior_has_volume else 0.0,
        )


class Local(NamedTuple):
    """n features with C columns, what of them does not depend on the auxiliary variables, and workspace."""

    features: IntArray  # (n,) sorted
    movable: npt.NDArray[np.bool_]  # (n,)
    first: IntArray  # (n + 1,) first columns
    columns: FloatArray  # Z (C, N)
    units: FloatArray  # (n, d), or (n, 0) where the prior has no ν
    tilt: FloatArray  # (n,)
    gram: FloatArray
    known: npt.NDArray[np.bool_]
    vectors: FloatArray
    tables: FloatArray

    def state(self, S: IntArray) -> State:
        """The set S as the kernel knows it."""
        n, members = len(self.features), np.searchsorted(self.features, S)
        order, place = np.empty(n, dtype=np.int64), np.full(n, -1)
        order[: len(members)] = members
        place[members] = np.arange(len(members))
        return State(order, place, np.array([len(members)]), np.empty(n), np.empty(n))

    def members(self, state: State) -> IntArray:
        """The set that the kernel came to."""
        return np.sort(self.features[state.order[: state.size[0]]])

    def needed(self, S: IntArray) -> IntArray:
        """Columns of the members of S and of features that have several: rows that a stretch needs from the start."""
        wanted = np.diff(self.first) > 1
        wanted[np.searchsorted(self.features, S)] = True
        return np.flatnonzero(np.repeat(wanted, np.diff(self.first)))


def _accepted(old: Position, new: Position, excess: float, gain: float, rng: np.random.Generator) -> Position:
    """The new position with probability e^gain [π(new)/π*(new)] / [π(old)/π*(old)], else the old one."""
    rise = gain + excess - cast(float, old.excess)
    return new._replace(excess=excess) if np.log(rng.random()) < rise else old


def _stacked(fixed: list[FloatArray]) -> FloatArray:
    """Arrays (p_k, C) as one (K, p, C), rows of zeros where a part has fewer."""
    out = np.zeros((len(fixed), max(map(len, fixed)), fixed[0].shape[1]))
    for row, part in zip(out, fixed, strict=True):
        row[: len(part)] = part
    return out


def _mask(S: IntArray, n: int) -> npt.NDArray[np.bool_]:
    inside = np.zeros(n, dtype=bool)
    inside[S] = True
    return inside
