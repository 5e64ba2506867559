"""The target as the chain sees it, and one stretch of the chain."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from ...dpp.sets import Float64Array, IntArray
from ...likelihoods import ConditionallyGaussian
from ..target import Target
from .kernel import Grid, Problem, State, simulate
from .system import DIAGONAL, INFORMATION

NOTHING = np.empty(0, dtype=np.int64)


class Position(NamedTuple):
    """Where a chain is: the set, the auxiliary variables of the likelihood, and the place on the grid."""

    S: IntArray
    auxiliary: Any
    at: tuple[int, int]


class Pace(NamedTuple):
    """How a stretch is run: the rate of features that look useless, and rounds of so much time."""

    eta: float
    time: float
    rounds: int


class Stretch(NamedTuple):
    """What a stretch of the chain adds to the averages."""

    features: IntArray  # (n,) that were in scope
    inclusion: Float64Array  # (n,) probabilities to be in, summed
    weight: float  # of these sums: `inclusion` over this are probabilities
    visits: Float64Array  # (I, J) rounds at each pair of hyperparameters
    steps: int


@dataclass(frozen=True, eq=False)
class Model:
    """p(S, hyperparameters, auxiliary variables | y), under conditions."""

    target: Target
    grid: Grid
    included: IntArray = field(default_factory=lambda: NOTHING)
    excluded: IntArray = field(default_factory=lambda: NOTHING)
    shared: tuple[Float64Array, npt.NDArray[np.bool_]] | None = None

    @property
    def likelihood(self) -> ConditionallyGaussian:
        """The target's likelihood."""
        return cast(ConditionallyGaussian, self.target.likelihood)  # which `sample` has checked

    @cached_property
    def n_outcomes(self) -> int:
        """K: quadratic forms of the likelihood."""
        return len(getattr(self.likelihood, "parts", [None]))

    @cached_property
    def free(self) -> npt.NDArray[np.bool_]:
        """Features (M,) that may come and go."""
        free = np.isfinite(self.tilt)
        free[self.included] = free[self.excluded] = False
        return free

    @cached_property
    def tilt(self) -> Float64Array:
        """Log-odds of the prior (M,) without ν between features; −inf for those that it never lets in."""
        theta = self.target.prior.theta
        return theta + 2 * self.target.volume.log_norms if self.target.prior_has_volume else theta

    def complete(self) -> Self:
        """The same with all Gram matrices, for chains to share, in which all features are always in scope."""
        features = np.arange(self.target.n_features)
        Z = self.likelihood.columns_of(features)
        forms = self.likelihood.quadratic_forms(features, Z, None)
        gram = np.empty((self.n_outcomes + self.target.prior_has_volume, len(Z), len(Z)))
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

    def local(self, S: IntArray, scope: npt.NDArray[np.bool_]) -> "Local":
        """The features in `scope` (M,), and those of the set S that are not and stay."""
        movable = scope & self.free
        here = movable | _mask(S, len(movable)) if self.shared is None else np.ones(len(movable), dtype=bool)
        features = np.flatnonzero(here)
        widths = self.likelihood.widths[features]
        n, C, has_volume = len(features), int(widths.sum()), self.target.prior_has_volume
        K = self.n_outcomes + has_volume
        gram, known = self.shared or (np.empty((K, C, C)), np.zeros((K, C), dtype=bool))
        local = Local(
            features=features,
            movable=movable[features],
            first=np.concatenate([[0], np.cumsum(widths)]),
            columns=self.likelihood.columns_of(features),
            units=self.target.volume.units(features) if has_volume else np.empty((n, 0)),
            tilt=self.tilt[features],
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
        problem = self._problem(local, position)
        state = _state(np.searchsorted(local.features, position.S), len(local.features))
        inclusion, visits = np.zeros(len(local.features)), np.zeros(self.grid.log_prior.shape)
        plan = (pace.eta, pace.time, pace.rounds, self.target.size is not None)
        i, j, steps, weight = simulate(problem, state, self.grid, position.at, plan, inclusion, visits, rng)
        S = np.sort(local.features[state.order[: state.size[0]]])
        auxiliary = self.likelihood.draw_auxiliary(S, float(np.exp(self.grid.log_c[j])), position.auxiliary, rng)
        moved = local.movable
        return Position(S, auxiliary, (i, j)), Stretch(local.features[moved], inclusion[moved], weight, visits, steps)

    def _problem(self, local: "Local", position: Position) -> Problem:
        """Write the forms, given the auxiliary variables, into the workspace."""
        forms = self.likelihood.quadratic_forms(local.features, local.columns, position.auxiliary)
        if position.auxiliary is not None:  # else rows that were learned stay valid
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
            fixed=np.stack([form.fixed for form in forms]),
            first=local.first,
            tilt=local.tilt,
            noise=np.array([[form.shape, form.rate, form.floor] for form in forms]),
            movable=local.movable,
            nugget=self.target.volume.nugget if self.target.prior_has_volume else 0.0,
        )


class Local(NamedTuple):
    """n features with C columns, what of them does not depend on the auxiliary variables, and workspace.

    The workspace is large, and the operating system hands out its pages as they are written.
    """

    features: IntArray  # (n,) sorted
    movable: npt.NDArray[np.bool_]  # (n,)
    first: IntArray  # (n + 1,) first columns
    columns: Float64Array  # Z (C, N)
    units: Float64Array  # (n, d), or (n, 0) where the prior has no ν
    tilt: Float64Array  # (n,)
    gram: Float64Array
    known: npt.NDArray[np.bool_]
    vectors: Float64Array
    tables: Float64Array

    def needed(self, S: IntArray) -> IntArray:
        """Columns of the members of S and of features that have several: rows that a stretch needs from the start."""
        wanted = np.diff(self.first) > 1
        wanted[np.searchsorted(self.features, S)] = True
        return np.flatnonzero(np.repeat(wanted, np.diff(self.first)))


def _state(members: IntArray, n: int) -> State:
    order, place = np.empty(n, dtype=np.int64), np.full(n, -1)
    order[: len(members)] = members
    place[members] = np.arange(len(members))
    return State(order, place, np.array([len(members)]), np.empty(n), np.empty(n))


def _mask(S: IntArray, n: int) -> npt.NDArray[np.bool_]:
    inside = np.zeros(n, dtype=bool)
    inside[S] = True
    return inside
