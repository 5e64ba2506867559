"""The posterior over some features as one quadratic form, small enough to embed in a report."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from ...likelihoods.protocol import QuadraticForm
from ...types import FloatArray, IntArray
from ..target import Target
from .kernel import simulate
from .model import Model, Position
from .problem import Grid, Problem, State
from .sample import ChainSettings, grid_of
from .system import DIAGONAL, INFORMATION

DRAWN = 40  # sets at which auxiliary variables are drawn; their forms are averaged
INNER = 5  # draws before one counts, since the variables of a set depend on those of the previous set
FLIPS = 60  # approximate number of steps per round
# Rounds per calibration run, and number of runs. Two classes, N = 200, M = 32, largest difference from the chains:
# 0.13 uncalibrated, 0.09 after four runs, 0.04 after ten; 0.17 if the slab precision is free, too.
ROUNDS, CALIBRATED = 600, 10
DAMPED = 0.7  # fraction of a correction that is applied
CLEAR = 0.002  # probabilities closer than this to 0 or 1 are not corrected further


@dataclass(frozen=True, eq=False)
class Form:
    """log p(S | y) for sets of n features with C columns, as in `Problem`; other features are excluded.

    Exact for regression; otherwise auxiliary variables are replaced by their averages, the slab precision is fixed,
    and `tilt` compensates: without conditions the inclusion probabilities are near those of the chains.
    """

    features: IntArray  # (n,) sorted
    first: IntArray  # (n + 1,) first column of each feature
    gram: FloatArray  # (K, C, C)
    information: FloatArray  # (K, C)
    noise: FloatArray  # (K, 3) shape, rate, floor
    cosines: FloatArray | None  # (n, n) of Φ, if the prior has ν
    nugget: float
    power: float  # exponent of ν
    tilt: FloatArray  # (n,)
    grid: Grid
    at: tuple[int, int]  # position on the grid nearest to the means
    size: int | None
    exact: bool
    off: float = 0.0  # largest difference from the chains' inclusion probabilities, without conditions

    def run(
        self, included: IntArray, excluded: IntArray, start: IntArray, rng: np.random.Generator, rounds: int = ROUNDS
    ) -> FloatArray:
        """Inclusion probabilities (n,) under conditions, by a chain from `start`; positions refer to `features`."""
        movable = np.ones(len(self.features), dtype=bool)
        movable[included] = movable[excluded] = False
        problem, state = self._problem(movable), self._state(start)
        inclusion, visits = np.zeros(len(self.features)), np.zeros(self.grid.log_prior.shape)
        eta, fixed = 4.0 / len(self.features), self.size is not None
        i, j, steps, _ = simulate(problem, state, self.grid, self.at, (eta, 0.1, 20, fixed), inclusion, visits, rng)
        time = 0.1 * 20 * FLIPS / max(steps, 1)
        inclusion[:] = 0.0
        *_, weight = simulate(problem, state, self.grid, (i, j), (eta, time, rounds, fixed), inclusion, visits, rng)
        found = inclusion / weight if weight > 0 else np.isin(np.arange(len(movable)), start).astype(np.float64)
        found[included], found[excluded] = 1.0, 0.0
        return np.asarray(found)

    def calibrated(self, wanted: FloatArray, start: IntArray, rng: np.random.Generator) -> Self:
        """Choose the tilt that brings the inclusion probabilities near the wanted ones (n,); `off` is the difference.

        Steps that overshoot are halved: a change common to all features also moves the prior's size.
        """
        best, tilt, step, nothing = replace(self, off=np.inf), self.tilt, DAMPED, np.arange(0)
        for _ in range(CALIBRATED):
            form = replace(self, tilt=tilt)
            found = form.run(nothing, nothing, start, rng)
            off = float(np.abs(found - wanted).max())
            if off < best.off:
                best, direction = replace(form, off=off), _logit(wanted) - _logit(found)
            else:
                step /= 2
            tilt = best.tilt + step * direction
        return best

    def _problem(self, movable: npt.NDArray[np.bool_]) -> Problem:
        K, C = self.information.shape
        n, with_volume = len(self.features), self.cosines is not None
        gram, vectors = np.zeros((K + with_volume, C, C)), np.zeros((K + with_volume, 5, C))
        gram[:K] = self.gram
        vectors[:K, DIAGONAL], vectors[:K, INFORMATION] = np.diagonal(self.gram, axis1=1, axis2=2), self.information
        if self.cosines is not None:
            gram[-1, :n, :n] = self.cosines
            vectors[-1, DIAGONAL, :n] = 1.0
        return Problem(
            gram=gram,
            known=np.ones(gram.shape[:2], dtype=bool),
            vectors=vectors,
            tables=np.empty((len(gram), 3, C, C)),
            members=np.empty(gram.shape[:2], dtype=np.int64),
            columns=np.empty((C, 0)),
            units=np.empty((n, 0)),
            precision=np.empty((K, 0)),
            fixed=np.empty((K, 0, C)),
            first=self.first,
            tilt=self.tilt,
            noise=self.noise,
            movable=movable,
            nugget=self.nugget,
            power=self.power,
        )

    def _state(self, S: IntArray) -> State:
        n = len(self.features)
        order, place = np.empty(n, dtype=np.int64), np.full(n, -1)
        order[: len(S)] = S
        place[S] = np.arange(len(S))
        return State(order, place, np.array([len(S)]), np.empty(n), np.empty(n))


def _logit(p: FloatArray) -> FloatArray:
    p = np.clip(p, CLEAR, 1 - CLEAR)
    return np.asarray(np.log(p / (1 - p)))


def form_of(
    target: Target,
    settings: ChainSettings,
    sets: list[IntArray],
    inclusion: FloatArray | None,
    features: IntArray,
    rng: np.random.Generator,
) -> Form:
    """The posterior over the sorted `features`, given some of its sets. O(C²N) for each of DRAWN draws.

    A form that is not exact is calibrated to the inclusion probabilities (M,), if they are given.
    """
    grid = grid_of(target, settings)
    model = Model(target, grid)
    Z = model.likelihood.columns_of(features)
    at = (_nearest(grid.log_kappa, 0.0), _nearest(grid.log_c, np.log(target.slab_precision or 1.0)))
    drawn = [sets[i] for i in np.linspace(0, len(sets) - 1, DRAWN).astype(int)]
    forms = _forms(model, drawn, at[1], features, Z, rng)
    exact = len(forms) == 1 and model.augments
    if not exact:  # another slab precision would need other auxiliary variables
        j = at[1]
        grid, at = grid._replace(log_c=grid.log_c[j : j + 1], log_prior=grid.log_prior[:, j : j + 1]), (at[0], 0)
    units = target.volume.units(features) if target.prior_has_volume else None
    form = Form(
        features=features,
        first=np.concatenate([[0], np.cumsum(model.likelihood.widths[features])]),
        gram=np.mean([[f.rows(Z, np.arange(len(Z))) for f in several] for several in forms], axis=0),
        information=np.mean([[f.information for f in several] for several in forms], axis=0),
        noise=np.array([[f.shape, f.rate, f.floor] for f in forms[0]]),
        cosines=None if units is None else units @ units.T,
        nugget=target.volume.nugget if target.prior_has_volume else 0.0,
        power=target.diversity,
        tilt=model.tilt[features],
        grid=grid,
        at=at,
        size=target.size,
        exact=exact,
    )
    start = next((S for S in sets if np.isin(S, features).all()), None)
    if exact or inclusion is None or start is None:
        return form
    return form.calibrated(inclusion[features], np.searchsorted(features, start), rng)


def _nearest(values: FloatArray, value: float) -> int:
    return int(np.argmin(np.abs(values - value)))


def _forms(
    model: Model, sets: list[IntArray], j: int, features: IntArray, Z: FloatArray, rng: np.random.Generator
) -> list[list[QuadraticForm]]:
    """The forms given auxiliary variables of each set; one form if there are none."""
    if not model.augments:
        return [model.likelihood.quadratic_forms(features, Z, model.expanded(sets, j))]
    position = model.at_start(sets[0], rng)
    if position.auxiliary is None:
        return [model.likelihood.quadratic_forms(features, Z, None)]
    found = []
    for S in sets:
        position = Position(S, position.auxiliary, (position.at[0], j))
        for _ in range(INNER):
            position = model.refreshed(position, rng)._replace(at=(position.at[0], j))
        found.append(model.likelihood.quadratic_forms(features, Z, position.auxiliary))
    return found
