"""Who is at risk at the times of events, and sums over them in which nothing is subtracted."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..compiled import numba
from ..types import FloatArray, IntArray

Flags = npt.NDArray[np.bool_]


class Sweeps(NamedTuple):
    """Running sums over K places that give the sum of every row over its interval of places.

    A row joins the running sum at one step of a sweep and stays until the sum starts again. An interval that begins
    with its stratum is a sweep backwards that starts again in each stratum. Any other crosses the middle of one block
    of 2, 4, 8, … places: the part before the middle is a sweep forwards, the part after it one backwards, both of
    which start again in each half. So K log K steps do, and large rows never pass through sums that are not theirs.
    """

    steps: IntArray  # (T,) the place of each step, sweep after sweep
    again: Flags  # (T,) whether the sum starts again at the step
    stop: IntArray  # (T,) how many of `rows` have joined up to the step
    rows: IntArray  # (R,)

    @classmethod
    def of(cls, begin: IntArray, end: IntArray, opening: IntArray) -> "Sweeps":
        """Sweeps for rows (N,) on begin ≤ k < end; `opening` (K,) is the first place of the stratum of each place."""
        K, rows = len(opening), np.flatnonzero(begin < end)
        late = begin[rows] > opening[begin[rows]]
        places = np.arange(K)
        backwards, forwards = places[::-1], places
        closing = np.append(opening[1:] > opening[:-1], True)
        found = [(backwards, closing[::-1], rows[~late], K - end[rows[~late]])]
        rows = rows[late]
        level = np.maximum(np.frexp((begin[rows] ^ (end[rows] - 1)).astype(np.float64))[1], 1)
        for half in 2 ** np.unique(level - 1).astype(np.int64):
            some = rows[2 ** (level - 1) == half]
            found.append((backwards, (backwards + 1) % half == 0, some, K - end[some]))
            some = some[begin[some] < end[some] - 1]
            found.append((forwards, forwards % half == 0, some, begin[some]))
        return cls._joined(found)

    @classmethod
    def _joined(cls, sweeps: list[tuple[IntArray, Flags, IntArray, IntArray]]) -> "Sweeps":
        """One after another: the places, where sums start again, the rows, and the step at which each row joins."""
        steps, again, rows, joins = (list(part) for part in zip(*sweeps, strict=True))
        K = len(steps[0])
        join = np.concatenate([step + i * K for i, step in enumerate(joins)])
        order = np.argsort(join, kind="stable")
        starts = np.concatenate(again)
        starts[::K] = True
        stop = np.searchsorted(join[order], np.arange(len(starts)), side="right")
        return cls(np.concatenate(steps), starts, stop, np.concatenate(rows)[order])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sums_at_places(
    Zt: FloatArray,
    e: FloatArray,
    K: int,
    steps: IntArray,
    again: Flags,
    stop: IntArray,
    rows: IntArray,
) -> FloatArray:
    """For each place, the sum of Zt (k, N) times e (N,) over the rows whose interval holds it (k, K)."""
    out = np.zeros((len(Zt), K))
    for c in range(len(Zt)):
        total, done = 0.0, 0
        for step in range(len(steps)):
            if again[step]:
                total = 0.0
            while done < stop[step]:
                total += Zt[c, rows[done]] * e[rows[done]]
                done += 1
            out[c, steps[step]] += total
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sums_over_intervals(
    H: FloatArray, N: int, steps: IntArray, again: Flags, stop: IntArray, rows: IntArray
) -> FloatArray:
    """For each row, the sum of H (k, K) over the places of its interval (k, N): the transpose of `sums_at_places`."""
    out = np.zeros((len(H), N))
    for c in range(len(H)):
        total, left = 0.0, len(rows)
        for step in range(len(steps) - 1, -1, -1):
            total += H[c, steps[step]]
            while left > (stop[step - 1] if step > 0 else 0):
                left -= 1
                out[c, rows[left]] += total
            if again[step]:
                total = 0.0
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy")
def sums_of_events(Zt: FloatArray, e: FloatArray, K: int, events: IntArray, own: IntArray) -> FloatArray:
    """For each place, the sum of Zt (k, N) times e (N,) over the events there (k, K)."""
    out = np.zeros((len(Zt), K))
    for c in range(len(Zt)):
        for j in range(len(events)):
            out[c, own[j]] += Zt[c, events[j]] * e[events[j]]
    return out


class RiskSets(NamedTuple):
    """Who is at risk at each of the K times of events: rows with entry < t_k ≤ time, in the same stratum.

    Times are numbered stratum after stratum, so the times at which a row is at risk are an interval of numbers. Those
    who have their event at a time are summed apart from the others at risk.
    """

    sweeps: Sweeps  # over the times at which a row is at risk and has no event
    events: IntArray  # (E,) rows with an event
    own: IntArray  # (E,) the number of its time
    strata: IntArray  # (N,) 0, 1, …
    of_time: IntArray  # (K,) the stratum of each time
    ever: Flags  # (N,) whether a row is at risk at any time

    @classmethod
    def of(cls, time: FloatArray, event: Flags, entry: FloatArray | None, strata: IntArray) -> "RiskSets":
        """Sort the rows. O(N log N)."""
        begin = np.full(len(time), -np.inf) if entry is None else entry
        # positions on one axis, stratum after stratum
        points = np.stack([np.tile(strata, 2), np.concatenate([time, begin])], axis=1)
        _, place = np.unique(points, axis=0, return_inverse=True)
        here, there = np.split(place.ravel(), 2)
        times, first, own = np.unique(here[event], return_index=True, return_inverse=True)
        events = np.flatnonzero(event)
        of_time = strata[events[first]]
        since, until = (np.searchsorted(times, places, side="right") for places in (there, here))
        opening = np.searchsorted(of_time, of_time)
        sweeps = Sweeps.of(since, until - event, opening)
        return cls(sweeps, events, own.ravel(), strata, of_time, since < until)

    def largest(self, eta: FloatArray, counted: Flags) -> FloatArray:
        """The largest η (N,) of the counted rows of each stratum; −∞ where there is none."""
        found = np.full(int(self.strata.max()) + 1, -np.inf)
        np.maximum.at(found, self.strata[counted], eta[counted])
        return found

    def sums(self, Zt: FloatArray, e: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of Zt (k, N) times e (N,) over others at risk, and over those with an event, at each time (k, K)."""
        K = len(self.of_time)
        return sums_at_places(Zt, e, K, *self.sweeps), sums_of_events(Zt, e, K, self.events, self.own)

    def over_rows(self, H: FloatArray, G: FloatArray) -> FloatArray:
        """For each row, the sum of H (k, K) over the times it is at risk without event, plus G (k, K) at its event."""
        out = sums_over_intervals(H, len(self.strata), *self.sweeps)
        out[:, self.events] += G[:, self.own]
        return np.asarray(out)
