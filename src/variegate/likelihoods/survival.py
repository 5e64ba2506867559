"""Survival: Cox's proportional hazards, by its partial likelihood."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..checks import WrongOutcome
from ..compiled import numba
from ..types import FloatArray, IntArray
from . import checks
from .laplace import Laplace
from .protocol import Predictive
from .terms import Derivatives

MOST_TERMS = 10_000_000  # one per event, and a row of weight w is w events


@numba.njit(cache=True, nogil=True, error_model="numpy")
def risk_sums(
    Zt: FloatArray, e: FloatArray, rows: IntArray, signs: FloatArray, stop: IntArray, events: IntArray, first: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Running sums at each event time; see `RiskSets`."""
    k, K = len(Zt), len(stop)
    at_risk, tied = np.empty((k, K)), np.empty((k, K))
    for c in range(k):
        total, done = 0.0, 0
        for time in range(K - 1, -1, -1):  # `stop` grows towards earlier times
            while done < stop[time]:
                total += signs[done] * Zt[c, rows[done]] * e[rows[done]]
                done += 1
            at_risk[c, time] = total
        for time in range(K):
            total = 0.0
            for i in range(first[time], first[time + 1] if time + 1 < K else len(events)):
                total += Zt[c, events[i]] * e[events[i]]
            tied[c, time] = total
    return at_risk, tied


class RiskSets(NamedTuple):
    """Who is at risk at each of the K times of events: rows with entry < t_k ≤ time, in the same stratum."""

    rows: IntArray  # (R,) rows by decreasing time; with strata or entries, each row again at its entry
    signs: FloatArray  # (R,) −1 for a row at its entry
    stop: IntArray  # (K,) how many of them add up to the sum over those at risk
    events: IntArray  # (E,) rows with an event, by increasing time
    first: IntArray  # (K,) position in `events` of the first at each time
    until: IntArray  # (N,) number of event times up to the row's time
    since: IntArray  # (N,) number of event times up to its entry

    @classmethod
    def of(
        cls, time: FloatArray, event: npt.NDArray[np.bool_], entry: FloatArray | None, strata: IntArray
    ) -> "RiskSets":
        """Sort the rows. O(N log N)."""
        begin = np.full(len(time), -np.inf) if entry is None else entry
        # positions on one axis, stratum after stratum
        points = np.stack([np.tile(strata, 2), np.concatenate([time, begin])], axis=1)
        _, place = np.unique(points, axis=0, return_inverse=True)
        here, there = np.split(place.ravel(), 2)
        times, events = np.unique(here[event]), np.flatnonzero(event)
        events = events[np.argsort(here[events], kind="stable")]
        places, rows, signs = here, np.arange(len(time)), np.ones(len(time))
        if entry is not None or strata.any():
            places, rows, signs = place.ravel(), np.tile(rows, 2), np.repeat([1.0, -1.0], len(time))
        order = np.argsort(-places, kind="stable")
        return cls(
            rows=rows[order],
            signs=signs[order],
            stop=np.searchsorted(-places[order], -times, side="right"),
            events=events,
            first=np.searchsorted(here[events], times),
            until=np.searchsorted(times, here, side="right"),
            since=np.searchsorted(times, there, side="right"),
        )

    def sums(self, Zt: FloatArray, e: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of Zt (k, N) times e (N,) over those at risk, and over those with an event, at each time (k, K)."""
        return risk_sums(Zt, e, self.rows, self.signs, self.stop, self.events, self.first)

    def over_time(self, H: FloatArray) -> FloatArray:
        """For each row, the sum of H (k, K) over the times at which it is at risk (k, N)."""
        total = np.concatenate([np.zeros((len(H), 1)), np.cumsum(H, axis=1)], axis=1)
        return np.asarray(total[:, self.until] - total[:, self.since])

    def at_event(self, H: FloatArray) -> FloatArray:
        """H (k, K) at the event of each row (k, N); 0 for rows without one."""
        out = np.zeros((len(H), len(self.until)))
        out[:, self.events] = H[:, self.until[self.events] - 1]
        return out


class Hazards(NamedTuple):
    """Denominators of the partial likelihood at a linear predictor, which also give its curvature.

    P_t = √u_t (w e^η over those at risk − f_t · the same over tied events) / D_t, for each of T terms.
    """

    terms: "CoxTerms"
    e: FloatArray  # (N,) w exp(η − largest)
    D: FloatArray  # (T,)
    largest: float

    def per_time(self, values: FloatArray) -> FloatArray:
        """Sums over the terms of each time (k, K) of values (k, T)."""
        return np.asarray(np.add.reduceat(values, self.terms.start, axis=1))

    @property
    def expected(self) -> FloatArray:
        """Expected events of each row (N,)."""
        u, f = self.terms.amount / self.D, self.terms.fraction
        risk = self.terms.risk
        own = risk.at_event(self.per_time((u * f)[None]))
        return np.asarray(self.e * (risk.over_time(self.per_time(u[None])) - own)[0])

    def _shares(self, Zt: FloatArray) -> FloatArray:
        """(Σ at risk − f Σ tied) / D of each term (k, T)."""
        t = self.terms
        at_risk, tied = t.risk.sums(Zt, self.e)
        if len(t.time) == len(t.start):  # no ties
            return np.asarray(at_risk / self.D)
        return np.asarray((at_risk[:, t.time] - t.fraction * tied[:, t.time]) / self.D)

    def factor(self, Zt: FloatArray) -> FloatArray:
        """P Zᵀ (T, k)."""
        return np.asarray((np.sqrt(self.terms.amount) * self._shares(Zt)).T)

    def times(self, Zt: FloatArray) -> FloatArray:
        """Z Pᵀ P (k, N)."""
        return self._over_rows(self._shares(Zt) * self.terms.amount)

    def roughly(self, n: int) -> FloatArray:
        """Shares of rows among those at risk, averaged over n periods with equally many events (at most n, N)."""
        u = self.terms.amount
        stretch = np.minimum(((np.cumsum(u) - 0.5 * u) * n / u.sum()).astype(np.int64), n - 1)
        of_term = stretch == np.unique(stretch)[:, None]
        return self._over_rows(u * of_term / np.sqrt(of_term @ u)[:, None])

    def _over_rows(self, q: FloatArray) -> FloatArray:
        """Sums (k, N), with weights q (k, T), of the shares of rows among those at risk in each term."""
        t, q = self.terms, q / self.D
        own = t.risk.at_event(self.per_time(q * t.fraction))
        return np.asarray(self.e * (t.risk.over_time(self.per_time(q)) - own))


@dataclass(frozen=True, eq=False)
class CoxTerms:
    """Cox's partial likelihood with Efron's treatment of ties.

    Σ_events w_i η_i − Σ_k Σ_l u_l log(Σ_{at risk} w e^η − l/d_k Σ_{tied} w e^η),  l = 0, …, d_k − 1,

    d_k the weight of the events at time k; u_l = 1, or the rest of d_k if that is not a whole number. So whole weights
    are repeated rows.

    >>> terms = CoxTerms.of(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> terms.derivatives(np.zeros(3)).slope.round(3)
    array([ 0.667, -0.333, -0.333])
    """

    events: FloatArray  # (N,) weights of rows with an event, else 0
    weights: FloatArray  # (N,)
    risk: RiskSets
    time: IntArray  # (T,) the event time of each term
    start: IntArray  # (K,) first term of each time
    fraction: FloatArray  # (T,) l/d
    amount: FloatArray  # (T,) u

    @classmethod
    def of(
        cls,
        time: FloatArray,
        event: npt.NDArray[np.bool_],
        entry: FloatArray | None = None,
        strata: IntArray | None = None,
        weights: FloatArray | None = None,
    ) -> "CoxTerms":
        """The terms for times (N,) that each end with an event or are censored."""
        w = np.ones(len(time)) if weights is None else weights
        counted = event & (w > 0)
        risk = RiskSets.of(time, counted, entry, np.zeros(len(time), dtype=np.int64) if strata is None else strata)
        d = risk.sums(w[None], np.ones(len(time)))[1][0]
        n = np.maximum(np.ceil(d - 1e-9), 1.0).astype(np.int64)
        if n.sum() > MOST_TERMS:
            raise ValueError(
                f"sample_weight counts events: they must number at most {MOST_TERMS:,}, got {n.sum():,}; divide all "
                "weights by a number."
            )
        start = np.concatenate([[0], np.cumsum(n)[:-1]])
        k = np.repeat(np.arange(len(n)), n)
        number = np.arange(len(k)) - start[k]
        return cls(np.where(counted, w, 0.0), w, risk, k, start, number / d[k], np.minimum(1.0, d[k] - number))

    @property
    def null(self) -> float:
        """The level of η does not matter."""
        return 0.0

    def hazards(self, eta: FloatArray) -> Hazards:
        """The sums that the derivatives need."""
        largest = float(eta.max())
        e = self.weights * np.exp(eta - largest)
        at_risk, tied = self.risk.sums(np.ones((1, len(e))), e)
        D = at_risk[0][self.time] - self.fraction * tied[0][self.time]
        return Hazards(self, e, np.maximum(D, 1e-300), largest)

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """Slope: martingale residuals, events minus expected events; weight: expected events."""
        found = self.hazards(eta)
        value = float(self.events @ eta - self.amount @ (np.log(found.D) + found.largest))
        expected = found.expected
        return Derivatives(value, self.events - expected, expected, found)

    def cumulative_hazard(self, eta: FloatArray) -> FloatArray:
        """Breslow's cumulative baseline hazard, with Efron's ties, at each event time (K,), stratum after stratum."""
        h = self.hazards(eta)
        return np.asarray(np.cumsum(h.per_time((self.amount / h.D)[None])[0]) * np.exp(-h.largest))


class Cox(Laplace[CoxTerms]):
    """Proportional hazards: h(t | x) = h₀(t) exp(η), the partial likelihood with Efron's ties.

    log p(y|S) is Laplace's approximation of its integral over the coefficients. There is no intercept, which would be
    part of h₀.

    Parameters
    ----------
    X : (N, M) float64 or float32 array (used in place), or scipy.sparse
    time : (N,) until the event or until the row was last seen
    event : (N,) booleans or 0/1, whether the event happened then
    entry : (N,), optional, times from which rows are under observation (left truncation)
    strata : (N,) labels, optional: each stratum has its own h₀
    slab_precision : c, on the scale of columns with unit standard deviation
    covariates : (N, p), always in the model
    sample_weight : (N,) frequencies

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> likelihood = Cox(X, rng.exponential(np.exp(-X[:, 1])), rng.random(60) < 0.7)
    >>> likelihood.flip_gains(np.array([], dtype=int)).gains.argmax()
    np.int64(1)
    """

    def __init__(
        self,
        X: Any,
        time: Any,
        event: Any,
        *,
        entry: Any = None,
        strata: Any = None,
        slab_precision: float = 1.0,
        covariates: Any = None,
        sample_weight: Any = None,
    ) -> None:
        design, weights = checks.measured(X, sample_weight)
        N = design.shape[0]
        t, happened = checked_times(time, event, N, weights)
        begin = None if entry is None else checks.vector(entry, "entry", N)
        checks.check_times(t, begin)
        labels, codes = (None, None) if strata is None else np.unique(np.asarray(strata), return_inverse=True)
        if codes is not None and codes.shape != (N,):
            raise ValueError(f"strata must hold a label for each of the {N} rows, got shape {np.shape(strata)}.")
        terms = CoxTerms.of(t, happened, begin, codes, weights)
        super().__init__(
            design, terms, slab_precision=slab_precision, covariates=covariates, sample_weight=weights, intercept=False
        )
        numbers = labels is not None and labels.dtype.kind in "iufb"  # other labels are replaced by their positions
        stratum = np.zeros(N) if codes is None else labels[codes] if numbers and labels is not None else codes
        self.event_times = np.unique(np.stack([stratum, t])[:, (happened > 0) & (weights > 0)], axis=1)

    @property
    def noise_variance(self) -> float:
        """Variance of the Gumbel distribution, that of the log of an exponential time."""
        return np.pi**2 / 6

    def _law(self, mean: FloatArray, variance: FloatArray) -> Predictive:
        scale = np.sqrt(variance)
        return Predictive(mean, scale, np.inf, mean, scale, "hazard")

    def baseline(self, S: IntArray) -> FloatArray:
        """Cumulative hazard at x̃ = 0, at each of `event_times` (2, K: stratum and time)."""
        return self.baseline_at(np.asarray(self._answer(S).mean() @ self._rows(S)))

    def baseline_at(self, eta: FloatArray) -> FloatArray:
        """Cumulative hazard of a row with predictor 0, if those of the rows are η (N,)."""
        total = self.terms.cumulative_hazard(eta)
        first = np.searchsorted(self.event_times[0], self.event_times[0], side="left")
        return np.asarray(total - np.where(first > 0, total[first - 1], 0.0))


def checked_times(time: Any, event: Any, length: int, weights: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Times and events, checked for a partial likelihood."""
    t, happened = checks.vector(time, "time", length), checks.vector(event, "event", length)
    checks.check_times(t)
    strange = np.setdiff1d(happened, [0.0, 1.0])
    if strange.size:
        raise ValueError(
            f"event must hold only 0 and 1 (or booleans), got {strange[:3].tolist()}; 1 means it happened."
        )
    if not (happened[weights > 0] > 0).any():
        raise WrongOutcome("event", "must have happened in at least one row, got none: nothing to learn from")
    if np.ptp(t[weights > 0]) == 0:
        raise WrongOutcome("time", f"must vary, got {t[0]:g} in every row: no row was at risk longer than another")
    return t, happened > 0
