"""The target for the chain, and one stretch of the chain."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from ...likelihoods import (
    AugmentedLikelihood,
    Auxiliary,
    ExpandedLikelihood,
    Predictor,
    QuadraticForm,
    QuadraticLikelihood,
    pick,
    window,
)
from ...sets import membership
from ...types import FloatArray, IntArray
from ..local_search import NOTHING
from ..target import Target
from .evidence import draw_size, log_evidence
from .kernel import simulate
from .problem import Grid, Problem, State
from .system import DIAGONAL, INFORMATION

COLUMN_BYTES = 1 << 26  # limit for the columns, in double precision, that each chain holds
REMEMBERED = 1 << 13  # evidences cached by each chain: with few features, sets repeat


class Position(NamedTuple):
    """The state of a chain: the set, the auxiliary variables of the likelihood, and the position on the grid."""

    S: IntArray
    auxiliary: Any
    at: tuple[int, int]
    excess: float | None = None  # log evidence minus that of the quadratic form, if that is an approximation

    @property
    def draw(self) -> "Draw":
        """The set with its hyperparameters."""
        nuisance = self.auxiliary.nuisance if isinstance(self.auxiliary, Auxiliary) else np.nan
        return Draw(self.S, self.at, float(nuisance))


class Draw(NamedTuple):
    """A posterior set with its hyperparameters: a position on the grid, and the likelihood's nuisance parameter."""

    S: IntArray
    at: tuple[int, int]
    nuisance: float = np.nan


class Pace(NamedTuple):
    """How a stretch is run: η, the flip rate of improbable features, and the time and number of rounds."""

    eta: float
    time: float
    rounds: int
    trusting: bool = False  # whether all moves on an approximate form are accepted, whatever the evidence


class Stretch(NamedTuple):
    """The contribution of a stretch of the chain to the averages."""

    features: IntArray  # (n,) features that could move
    inclusion: FloatArray  # (n,) weighted sums of inclusion probabilities
    weight: float  # total weight of these sums
    visits: FloatArray  # (I, J) rounds at each pair of hyperparameters
    steps: int


class Complete(NamedTuple):
    """Gram matrices and forms of all features, computed once for all chains."""

    gram: FloatArray
    known: npt.NDArray[np.bool_]
    forms: list[QuadraticForm]  # without the arrays from which Gram rows are computed


@dataclass(frozen=True, eq=False)
class Model:
    """p(S, hyperparameters, auxiliary variables | y), under conditions."""

    target: Target
    grid: Grid
    included: IntArray = field(default_factory=lambda: NOTHING)
    excluded: IntArray = field(default_factory=lambda: NOTHING)
    shared: Complete | None = None
    evidences: dict[tuple[bytes, int, float | None], float] = field(default_factory=dict)  # of (set, slab, nuisance)

    @property
    def likelihood(self) -> QuadraticLikelihood:
        """The target's likelihood."""
        return cast(QuadraticLikelihood, self.target.likelihood)  # checked by `sample`

    @cached_property
    def augments(self) -> bool:
        """Whether the form is exact given auxiliary variables; if not, the evidence decides which moves to accept."""
        return self.likelihood.can_augment

    def at_start(self, S: IntArray, rng: np.random.Generator) -> Position:
        """The first position of a chain."""
        i = len(self.grid.log_kappa) // 3
        at = (i, int(np.argmax(self.grid.log_prior[i])))
        return Position(S, self._auxiliary_at(S, at[1], rng) if self.augments else self.expanded([S], at[1]), at)

    def _auxiliary_at(self, S: IntArray, j: int, rng: np.random.Generator) -> Any:
        predictor = self._predictor(S, j, None, rng)
        return None if predictor is None else predictor.auxiliary(1.0, rng)

    def refreshed(self, position: Position, rng: np.random.Generator) -> Position:
        """Draw new auxiliary variables, and the slab precision given the coefficients in units of the slab.

        The kernel draws the slab precision given the auxiliary variables, which depend on the size of coefficients:
        with few rows of separable classes, each keeps the other from changing. Drawing it both ways (Yu & Meng 2011)
        avoids that: the standard deviation of z-scores is 3.6 without it and 1.0 with it (30 rows, 5 columns).
        """
        (i, j), log_c = position.at, self.grid.log_c
        predictor = self._predictor(position.S, j, position.auxiliary, rng)
        if predictor is None:
            return position
        near = window(j, len(log_c), rng)
        scales = np.exp(0.5 * (log_c[j] - log_c[near]))
        new = pick(predictor.log_densities(scales) + self.grid.log_prior[i, near], rng) if len(scales) > 1 else 0
        return position._replace(auxiliary=predictor.auxiliary(float(scales[new]), rng), at=(i, near.start + new))

    def _predictor(self, S: IntArray, j: int, auxiliary: Any, rng: np.random.Generator) -> Predictor | None:
        return cast(AugmentedLikelihood, self.likelihood).draw_predictor(S, self._slab(j), auxiliary, rng)

    def expanded(self, sets: list[IntArray], j: int) -> Any:
        """The quadratic form around the posterior, from some of its sets."""
        return cast(ExpandedLikelihood, self.likelihood).expand(sets, self._slab(j))

    def _slab(self, j: int) -> float:
        return float(np.exp(self.grid.log_c[j]))

    @cached_property
    def free(self) -> npt.NDArray[np.bool_]:
        """Features (M,) that can be added and removed."""
        free = np.isfinite(self.tilt)
        free[self.included] = free[self.excluded] = False
        return free

    @cached_property
    def tilt(self) -> FloatArray:
        """Log-odds of the prior (M,) for each feature alone; −inf if its prior probability is zero."""
        theta = self.target.prior.theta
        if not self.target.prior_has_volume:
            return theta
        return np.asarray(theta + 2 * self.target.diversity * self.target.volume.log_norms)

    def own(self) -> Self:
        """A copy for one chain: evidences, warm-started from earlier sets, must not depend on other chains."""
        return self if self.augments else replace(self, target=self.target.roughly(False), evidences={})

    @cached_property
    def is_tall(self) -> bool:
        """Whether the columns of all features take so much memory that only their Gram matrices are kept."""
        one = self.likelihood.columns_of(np.arange(1)).nbytes
        return bool(one * self.likelihood.widths.sum() > COLUMN_BYTES)

    def complete(self, auxiliary: Any = None) -> Self:
        """The same with all Gram matrices, shared by the chains; all features are always in scope."""
        features = np.arange(self.target.n_features)
        found = self.likelihood.grams(auxiliary) if self.is_tall else self._grams(auxiliary)
        C = len(found[0][0])
        gram = np.zeros((len(found) + self.target.prior_has_volume, C, C))
        for k, (of_outcome, _) in enumerate(found):
            gram[k] = of_outcome
        if self.target.prior_has_volume:
            units = self.target.volume.units(features)
            gram[-1, : len(units), : len(units)] = units @ units.T
        forms = [_without_rows(form) for _, form in found]
        return replace(self, shared=Complete(gram, np.ones(gram.shape[:2], dtype=bool), forms))

    def _grams(self, auxiliary: Any) -> list[tuple[FloatArray, QuadraticForm]]:
        features = np.arange(self.target.n_features)
        Z = self.likelihood.columns_of(features)
        forms = self.likelihood.quadratic_forms(features, Z, auxiliary)
        return [(form.rows(Z, np.arange(len(Z))), form) for form in forms]

    def independent(self, candidates: IntArray, wanted: int) -> IntArray:
        """The first `wanted` candidates that can be in a set together under the prior, sorted."""
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
        """S made into a valid start: it meets the conditions, has positive prior probability, and the fixed size."""
        first = np.concatenate([self.included, np.setdiff1d(S, self.included)])
        if self.target.size is None:
            return self.independent(first, len(first))
        others = np.setdiff1d(np.flatnonzero(self.free), first)
        return self.independent(np.concatenate([first, rng.permutation(others)]), self.target.size)

    def local(self, S: IntArray, inside: npt.NDArray[np.bool_], scope: FloatArray | None = None) -> "Local":
        """The features in scope, `inside` (M,), drawn with probabilities `scope` (M,); they include S."""
        movable = inside & self.free
        here = movable | membership([S], len(movable))[0] if self.shared is None else np.ones(len(movable), dtype=bool)
        features = np.flatnonzero(here)
        widths = self.likelihood.widths[features]
        n, C, has_volume = len(features), int(widths.sum()), self.target.prior_has_volume
        K = self.likelihood.n_outcomes + has_volume
        gram, known, _ = self.shared or (np.empty((K, C, C)), np.zeros((K, C), dtype=bool), None)
        local = Local(
            features=features,
            movable=movable[features],
            first=np.concatenate([[0], np.cumsum(widths)]),
            columns=self.likelihood.columns_of(features) if self.shared is None else np.empty((C, 0)),
            units=self.target.volume.units(features) if has_volume else np.empty((n, 0)),
            tilt=self.tilt[features] - (0.0 if scope is None else np.log(scope[features])),
            gram=gram,
            known=known,
            vectors=np.zeros((K, 5, C)),
            tables=np.empty((K, 3, C, C)),
            forms={},
        )
        if has_volume:
            local.vectors[-1, DIAGONAL, :n] = 1.0
        return local

    def advance(
        self, position: Position, local: "Local", pace: Pace, rng: np.random.Generator
    ) -> tuple[Position, Stretch]:
        """One stretch, in which only features in scope move, then new auxiliary variables."""
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
        """Run a stretch on the approximate form, accept or reject its end, then draw new hyperparameters.

        Hyperparameters stay fixed during the stretch, which would otherwise not be reversible. The path follows the
        form, not the posterior, so only its end counts.
        """
        problem, state, (i, j) = self.problem(local, position), local.state(position.S), position.at
        here = Grid(self.grid.log_kappa[i : i + 1], np.zeros(1), self.grid.log_c[j : j + 1], np.zeros((1, 1)))
        path, unused = np.zeros(len(local.features)), np.zeros((1, 1))
        _, _, steps, _ = simulate(problem, state, here, (0, 0), self._plan(pace), path, unused, rng)
        if position.excess is None:
            position = position._replace(excess=self._excess(position, local, problem))
        new = position._replace(S=local.members(state))
        excess = self._excess(new, local, problem)
        end = new._replace(excess=excess) if pace.trusting else _accepted(position, new, excess, 0.0, rng)
        if len(self.grid.log_kappa) > 1:
            end = end._replace(at=(int(draw_size(len(end.S), self.grid, j, rng)), j))
        end = self._other_slab(end, local, problem, rng)
        visits = np.zeros(self.grid.log_prior.shape)
        visits[end.at] = 1.0
        moved = local.features[local.movable]
        return end, Stretch(moved, np.isin(moved, end.S).astype(np.float64), 1.0, visits, steps)

    def _other_slab(self, position: Position, local: "Local", problem: Problem, rng: np.random.Generator) -> Position:
        """Propose a nearby slab precision; the evidence decides."""
        i, j = position.at
        k = j + int(rng.choice([-2, -1, 1, 2]))
        if not 0 <= k < len(self.grid.log_c):
            return position
        new = position._replace(at=(i, k))
        state, excess = local.state(position.S), self._excess(new, local, problem)
        form = log_evidence(problem, state, self._slab(k)) - log_evidence(problem, state, self._slab(j))
        return _accepted(position, new, excess, form + self.grid.log_prior[i, k] - self.grid.log_prior[i, j], rng)

    def _excess(self, position: Position, local: "Local", problem: Problem) -> float:
        """Log evidence minus that of the form."""
        S, j, nuisance = position.S, position.at[1], position.draw.nuisance
        given = nuisance if np.isfinite(nuisance) else None
        c, key = self._slab(j), (S.tobytes(), j, given)
        if key not in self.evidences:
            if len(self.evidences) >= REMEMBERED:
                self.evidences.clear()
            likelihood = self.likelihood.with_slab_precision(c)
            likelihood = likelihood if given is None else likelihood.with_nuisance(given)
            self.evidences[key] = likelihood.log_evidence(S)
        return float(self.evidences[key] - log_evidence(problem, local.state(S), c))

    def _plan(self, pace: Pace) -> tuple[float, float, int, bool]:
        return pace.eta, pace.time, pace.rounds, self.target.size is not None

    def problem(self, local: "Local", position: Position) -> Problem:
        """Write the forms, given the auxiliary variables, into the workspace."""
        if local.forms.get("given", local) is not position.auxiliary:
            given = position.auxiliary
            forms = (
                self.likelihood.quadratic_forms(local.features, local.columns, given)
                if self.shared is None
                else self.shared.forms
            )
            local.forms.update(given=given, forms=forms)
            for k, form in enumerate(forms):
                local.vectors[k, DIAGONAL], local.vectors[k, INFORMATION] = form.diagonal, form.information
            if self.shared is None:
                local.known[: len(forms)] = False
        forms, needed = local.forms["forms"], local.needed(position.S)
        for k, form in enumerate(forms):
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
            power=self.target.diversity,
        )


class Local(NamedTuple):
    """n features with C columns: what does not depend on the auxiliary variables, and workspace."""

    features: IntArray  # (n,) sorted
    movable: npt.NDArray[np.bool_]  # (n,)
    first: IntArray  # (n + 1,) first columns
    columns: FloatArray  # Z (C, N)
    units: FloatArray  # (n, d), or (n, 0) if the prior has no ν
    tilt: FloatArray  # (n,)
    gram: FloatArray
    known: npt.NDArray[np.bool_]
    vectors: FloatArray
    tables: FloatArray
    forms: dict[str, Any]  # the quadratic forms, and the auxiliary variables that they are conditional on

    def state(self, S: IntArray) -> State:
        """The set S as the kernel's state."""
        n, members = len(self.features), np.searchsorted(self.features, S)
        order, place = np.empty(n, dtype=np.int64), np.full(n, -1)
        order[: len(members)] = members
        place[members] = np.arange(len(members))
        return State(order, place, np.array([len(members)]), np.empty(n), np.empty(n))

    def members(self, state: State) -> IntArray:
        """The set of the kernel's state."""
        return np.sort(self.features[state.order[: state.size[0]]])

    def needed(self, S: IntArray) -> IntArray:
        """Columns whose Gram rows a stretch needs at its start: those of members of S and of features with several."""
        wanted = np.diff(self.first) > 1
        wanted[np.searchsorted(self.features, S)] = True
        return np.flatnonzero(np.repeat(wanted, np.diff(self.first)))


def _accepted(old: Position, new: Position, excess: float, gain: float, rng: np.random.Generator) -> Position:
    """The new position with probability e^gain [π(new)/π*(new)] / [π(old)/π*(old)], else the old one."""
    rise = gain + excess - cast(float, old.excess)
    return new._replace(excess=excess) if np.log(rng.random()) < rise else old


def _without_rows(form: QuadraticForm) -> QuadraticForm:
    """The form without the arrays from which its Gram rows are computed."""
    return form._replace(precision=np.empty(0), fixed=np.empty((0, len(form.diagonal))))


def _stacked(fixed: list[FloatArray]) -> FloatArray:
    """Arrays (p_k, C) stacked to (K, p, C), padded with rows of zeros."""
    out = np.zeros((len(fixed), max(map(len, fixed)), fixed[0].shape[1]))
    for row, part in zip(out, fixed, strict=True):
        row[: len(part)] = part
    return out
