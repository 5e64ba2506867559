"""One pass over columns that were left out: the odds that each is in a set, given some posterior sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from ..compiled import numba
from ..large import Block, Moments
from ..likelihoods import SHARED, Auxiliary, Factor, Neighbours, Solution, compiled_gain
from ..types import FloatArray, IntArray

# Products are centred after the multiplication if all means of a block are below this many standard deviations: in
# single precision that costs two of seven digits and saves half the time.
NEAR = 100.0
NEGLIGIBLE = -23.0  # smaller log-odds are not computed: over 10⁶ columns such odds add up to at most 10⁻⁴


class Outside(NamedTuple):
    """Results for w left-out columns."""

    odds: FloatArray  # (w,) of the column being in a set, against no left-out column being in it
    ratio: FloatArray  # (K,) likelihood ratios given each set, times e^tilt, summed over the columns


class OfOutcome(NamedTuple):
    """What the pass needs of one outcome given one set.

    With P = CCᵀ the covariance of a member's coefficients: C⁻¹, member after member (k, k), C⁻¹μ (k,), and log|P|.
    """

    solution: Solution
    slab_precision: float
    whiten: FloatArray
    means: FloatArray
    log_det: FloatArray  # one for each member

    @classmethod
    def of(cls, solution: Solution, slab_precision: float, units: list[IntArray]) -> "OfOutcome":
        """From the positions of each member's columns among those of the set."""
        k, inverse, row = sum(map(len, units)), solution.factor.inverse(), 0
        whiten, log_det = np.zeros((k, k)), np.zeros(len(units))
        for g, unit in enumerate(units):
            C = np.linalg.cholesky(inverse[np.ix_(unit, unit)])
            whiten[row : row + len(unit), unit] = lapack.dtrtri(C, lower=1)[0]
            log_det[g], row = 2.0 * np.log(np.diag(C)).sum(), row + len(unit)
        return cls(solution, slab_precision, whiten, whiten @ solution.factor.mean()[:k], log_det)

    def neighbours(self, cross: FloatArray, squares: FloatArray) -> Neighbours:
        """w columns, from their products with the solution's rows, and their sums of squares under its precision."""
        (factor, noise), products = (self.solution.factor, self.solution.noise), np.ascontiguousarray(cross[:-1])
        return Neighbours.of(factor, products, squares, cross[-1], self.slab_precision, noise)


class Given(NamedTuple):
    """What the pass needs of one set: of each outcome, and the weights of the places that a column can take."""

    outcomes: tuple[OfOutcome, ...]
    first: IntArray  # (J + 1,) first column of each member of the set
    log_addition: float  # log weight of adding a column
    log_exchange: FloatArray  # (J,) log weights of exchanging each member for a column


@dataclass(frozen=True, eq=False)
class LookOutside:
    """The pass: products of each block with the rows of the solutions, then the odds from all products."""

    sets: tuple[Given, ...]  # their solutions hold no rows
    rows: npt.NDArray[np.float32]  # (R, N) of all solutions, without repeats
    squares: npt.NDArray[np.float32]  # (Q, N)
    place: tuple[tuple[IntArray, int], ...]  # positions of each solution's rows and squares, set by set
    tilt: FloatArray | None  # (M,) added to the prior log-odds of single columns
    moments: Moments
    left_out: npt.NDArray[np.bool_]  # (M,) other columns get no odds
    counted: float  # columns with larger odds are not part of `ratio`

    def of_block(self, values: npt.NDArray[Any], block: Block) -> tuple[FloatArray, FloatArray]:
        """Products with the centred columns, multiplied in single precision."""
        some, rows, squares = self.moments.take(block.columns), self.rows[:, block.rows], self.squares[:, block.rows]
        centre = some.centre.astype(np.float32)
        if (np.abs(some.centre) * some.inverse_scale).max(initial=0.0) > NEAR:
            Z = np.nan_to_num((values - some.centre).astype(np.float32), copy=False)
            centre = np.zeros_like(centre)
        else:
            Z = values.astype(np.float32)
            gone = np.isnan(Z)
            if gone.any():
                np.copyto(Z, centre, where=gone)
        cross = rows @ Z - rows.sum(axis=1, dtype=np.float64)[:, None] * centre
        weight = squares.sum(axis=1, dtype=np.float64)[:, None]
        first = (squares @ Z).astype(np.float64)
        return cross, squares @ np.square(Z, out=Z) - (2.0 * first - weight * centre) * centre

    def together(
        self, upper: tuple[FloatArray, FloatArray], lower: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Products with the rows of both blocks together."""
        return upper[0] + lower[0], upper[1] + lower[1]

    def of_columns(self, found: tuple[FloatArray, FloatArray], columns: slice) -> Outside:
        """Odds and likelihood ratios of the columns."""
        scale = self.moments.take(columns).inverse_scale
        cross, squares = found[0] * scale, found[1] * scale**2
        tilt = np.zeros(len(scale)) if self.tilt is None else self.tilt[columns].copy()
        tilt[(scale == 0) | ~self.left_out[columns]] = -np.inf
        odds, ratio = np.zeros(len(scale)), np.zeros((len(self.sets), len(scale)))
        places = iter(self.place)
        for given, row in zip(self.sets, ratio, strict=True):
            add_odds(*_neighbours(given, places, cross, squares), tilt, odds, row)  # type: ignore[call-arg]
        odds /= len(self.sets)
        return Outside(odds, np.where(odds <= self.counted, ratio, 0.0).sum(axis=-1))


def _neighbours(given: Given, places: Any, cross: FloatArray, squares: FloatArray) -> tuple[Any, ...]:
    """Arguments of the compiled loop for all columns given one set."""
    found, W = [], []
    for one, (rows, square) in zip(given.outcomes, places, strict=False):
        n = len(one.solution.factor.u) + 1
        shared = np.square(cross[rows[n:]]).sum(axis=0)
        near = one.neighbours(cross[rows[:n]], squares[square] - shared)
        found.append(near)
        W.append(one.whiten @ near.factor.solve_from(near.V)[: len(one.means)])
    return (
        np.stack([near.d for near in found]),
        np.stack([near.e for near in found]),
        np.stack(W),
        np.stack([one.means for one in given.outcomes]),
        np.array([[near.c, *near.noise] for near in found]),
        given.first,
        given.log_addition,
        given.log_exchange - 0.5 * sum(one.log_det for one in given.outcomes),
    )


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_odds(
    d: FloatArray, e: FloatArray, W: FloatArray, means: FloatArray, noise: FloatArray, first: IntArray,
    log_addition: float, log_exchange: FloatArray, tilt: FloatArray, odds: FloatArray, ratio: FloatArray,
) -> None:  # fmt: skip
    """Add one set's contribution to the odds of every column (w,), and fill in the likelihood ratios.

    For K outcomes: d, e (K, w), W (K, k, w), means (K, k).
    """
    K, w = d.shape
    base, bound, left, moved = tilt.copy(), np.empty(w), np.empty((K, w)), np.empty((K, w))
    for m in range(w):
        alone = tilt[m]
        for o in range(K):
            half = 0.5 * np.log(d[o, m])
            base[m] -= half
            alone += 0.5 * np.log(noise[o, 0]) - half
            alone += compiled_gain(e[o, m] * e[o, m] / d[o, m], noise[o, 1], noise[o, 2], noise[o, 3])
        ratio[m] = np.exp(alone)
        odds[m] += np.exp(alone + log_addition)
    for j in range(len(first) - 1):
        for m in range(w):
            bound[m] = base[m] + log_exchange[j]
        for o in range(K):
            left[o], moved[o] = d[o], e[o]
            own = 0.0
            for i in range(first[j], first[j + 1]):
                own += means[o, i] * means[o, i]
                for m in range(w):
                    left[o, m] += W[o, i, m] * W[o, i, m]
                    moved[o, m] += W[o, i, m] * means[o, i]
            raise_bound(bound, left[o], moved[o], own, noise[o])
        for m in range(w):
            if bound[m] > NEGLIGIBLE:
                exact = tilt[m] + log_exchange[j]
                for o in range(K):
                    x = moved[o, m] * moved[o, m] / left[o, m]
                    for i in range(first[j], first[j + 1]):
                        x -= means[o, i] * means[o, i]
                    exact += compiled_gain(x, noise[o, 1], noise[o, 2], noise[o, 3]) - 0.5 * np.log(left[o, m])
                odds[m] += np.exp(exact)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def raise_bound(bound: FloatArray, left: FloatArray, moved: FloatArray, own: float, noise: FloatArray) -> None:
    """Add an upper bound on the gain of an exchange in one outcome to `bound` (w,), without a logarithm.

    Most exchanges are negligible; −a log(1 − y) ≤ a y/(1 − y) shows which.
    """
    if noise[1] == 0.0:
        for m in range(len(bound)):
            bound[m] += 0.5 * (moved[m] * moved[m] / left[m] - own)
        return
    half = 0.5 / noise[2]
    for m in range(len(bound)):
        y = min(half * (moved[m] * moved[m] / left[m] - own), 0.999)
        bound[m] += noise[1] * y / (1.0 - y)


def stacked(
    sets: Sequence[Given], tilt: FloatArray | None, moments: Moments, left_out: npt.NDArray[np.bool_], counted: float
) -> LookOutside:
    """The pass for these sets; rows shared by several solutions are multiplied once."""
    rows: dict[bytes, tuple[int, npt.NDArray[np.float32]]] = {}
    squares: dict[bytes, tuple[int, npt.NDArray[np.float32]]] = {}
    place: list[tuple[IntArray, int]] = []
    for solution in (one.solution for given in sets for one in given.outcomes):
        terms = solution.given
        shared = [] if terms.shared is None else [terms.shared.roughly(SHARED)]
        light = np.vstack([solution.products(), *shared]).astype(np.float32)
        of_rows = np.array([rows.setdefault(row.tobytes(), (len(rows), row))[0] for row in light])
        precision = terms.precision.astype(np.float32)
        place.append((of_rows, squares.setdefault(precision.tobytes(), (len(squares), precision))[0]))
    return LookOutside(
        tuple(given._replace(outcomes=tuple(map(_without_rows, given.outcomes))) for given in sets),
        np.stack([row for _, row in rows.values()]),
        np.stack([row for _, row in squares.values()]),
        tuple(place),
        tilt,
        moments,
        left_out,
        counted,
    )


def _without_rows(one: OfOutcome) -> OfOutcome:
    nothing, factor = np.empty((0, 0)), one.solution.factor
    packed = Factor(np.asfortranarray(factor.L), factor.u)
    given = Auxiliary(np.empty(0), np.empty(0))
    return one._replace(solution=one.solution._replace(rows=nothing, given=given, factor=packed))
