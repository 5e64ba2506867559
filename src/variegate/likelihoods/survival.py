"""Survival: Cox's proportional hazards, by its partial likelihood."""

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ..checks import WrongOutcome
from ..types import FloatArray, IntArray
from . import checks
from .laplace import Laplace
from .protocol import Predictive
from .risk_sets import RiskSets
from .terms import Derivatives

# Sums over the events at one time: the first 16 terms one by one, then blocks of 16, 32, …, each by 10 points. A
# block's distance from the singularity of log and 1/x is at least its length, so the error is of order 5.8^-20.
BLOCK, NODES = 16, 10


class Hazards(NamedTuple):
    """Denominators of the partial likelihood at a linear predictor, which also give its curvature.

    With D_l = Σ_{others at risk} w e^η + g_l Σ_{tied} w e^η and a_l the same sums of z w e^η, divided by D_l,
    Z Pᵀ P Zᵀ = Σ_l u_l a_l a_lᵀ. At each time it depends on the two sums only, so two rows of P are enough.
    """

    terms: "CoxTerms"
    e: FloatArray  # (N,) w exp(η − largest)
    total: FloatArray  # (K,) Σ at risk w exp(η − largest)
    ratio: FloatArray  # (T,) total / D
    largest: FloatArray  # (K,) largest η of the stratum

    def per_time(self, values: FloatArray) -> FloatArray:
        """Sums over the terms of each time (K,) of values (T,)."""
        return np.asarray(np.add.reduceat(values, self.terms.start))

    @property
    def value(self) -> FloatArray:
        """Σ_l u_l log D_l, up to the largest η."""
        t = self.terms
        return np.asarray(t.amount @ (np.log(self.total)[t.time] - np.log(self.ratio)))

    @property
    def increments(self) -> FloatArray:
        """Breslow's hazard at each time (K,), for exp(η − largest)."""
        return self.per_time(self.terms.amount * self.ratio) / self.total

    @property
    def expected(self) -> FloatArray:
        """Expected events of each row (N,)."""
        t = self.terms
        tied = self.per_time(t.amount * t.left * self.ratio) / self.total
        return np.asarray(self.e * t.risk.over_rows(self.increments[None], tied[None])[0])

    def _shares(self, Zt: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums over others at risk and over tied events, divided by the total (k, K)."""
        others, tied = self.terms.risk.sums(Zt, self.e)
        return others / self.total, tied / self.total

    @property
    def _moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Σ_l q_l, the mean of g_l under q, and Σ_l q_l (g_l − mean)² at each time (K,), q_l = u_l (total/D_l)²."""
        t = self.terms
        q = t.amount * np.square(self.ratio)
        sums = self.per_time(q)
        mean = self.per_time(q * t.left) / sums
        return sums, mean, self.per_time(q * np.square(t.left - mean[t.time]))

    def factor(self, Zt: FloatArray) -> FloatArray:
        """P Zᵀ (p, k)."""
        others, tied = self._shares(Zt)
        q, mean, spread = self._moments
        several = self.terms.several
        return np.vstack([(np.sqrt(q) * (others + mean * tied)).T, (np.sqrt(spread) * tied)[:, several].T])

    def times(self, Zt: FloatArray) -> FloatArray:
        """Z Pᵀ P (k, N)."""
        others, tied = self._shares(Zt)
        q, mean, spread = self._moments
        H = q * (others + mean * tied)
        return np.asarray(self.e * self.terms.risk.over_rows(H / self.total, (mean * H + spread * tied) / self.total))

    def roughly(self, n: int) -> FloatArray:
        """Shares of rows among those at risk, averaged over n periods with equally many events (at most n, N)."""
        t, u = self.terms, self.terms.amount
        period = np.minimum(((np.cumsum(u) - 0.5 * u) * n / u.sum()).astype(np.int64), n - 1)
        _, period = np.unique(period, return_inverse=True)
        q = u / np.sqrt(np.bincount(period, u))[period] * self.ratio
        shape = (int(period[-1]) + 1, len(self.total))
        H, G = np.zeros(shape), np.zeros(shape)
        np.add.at(H, (period, t.time), q)
        np.add.at(G, (period, t.time), q * t.left)
        return np.asarray(self.e * t.risk.over_rows(H / self.total, G / self.total))


@dataclass(frozen=True, eq=False)
class CoxTerms:
    """Cox's partial likelihood with Efron's treatment of ties.

    Σ_events w_i η_i − Σ_k Σ_l u_l log(Σ_{at risk} w e^η − l/d_k Σ_{tied} w e^η),  l = 0, …, d_k − 1,

    d_k the weight of the events at time k; u_l = 1, or the rest of d_k if that is not a whole number. So whole weights
    are repeated rows. The logarithms are sums over others at risk and g_l = 1 − l/d_k of the tied events: nothing is
    subtracted. If d_k is large, few terms stand for many; see `efron`.

    >>> terms = CoxTerms.of(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> terms.derivatives(np.zeros(3)).slope.round(3)
    array([ 0.667, -0.333, -0.333])
    """

    events: FloatArray  # (N,) weights of rows with an event, else 0
    weights: FloatArray  # (N,) 0 for rows that are never at risk
    risk: RiskSets
    time: IntArray  # (T,) the event time of each term
    start: IntArray  # (K,) first term of each time
    left: FloatArray  # (T,) g
    amount: FloatArray  # (T,) u
    several: npt.NDArray[np.bool_]  # (K,) times with more than one term

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
        d, of_time = np.unique(np.bincount(risk.own, w[risk.events]), return_inverse=True)
        found = [efron(float(weight)) for weight in d]
        left, amount = np.hstack([found[i] for i in of_time])
        n = np.array([found[i].shape[1] for i in of_time])
        return cls(
            events=np.where(counted, w, 0.0),
            weights=np.where(risk.ever, w, 0.0),
            risk=risk,
            time=np.repeat(np.arange(len(n)), n),
            start=np.cumsum(n) - n,
            left=left,
            amount=amount,
            several=n > 1,
        )

    @property
    def null(self) -> float:
        """The level of η does not matter."""
        return 0.0

    def hazards(self, eta: FloatArray) -> Hazards:
        """The sums that the derivatives need."""
        counted = self.weights > 0
        largest = self.risk.largest(eta, counted)
        e = self.weights * np.exp(np.where(counted, eta - largest[self.risk.strata], 0.0))
        others, tied = self.risk.sums(np.ones((1, len(e))), e)
        others, tied = others[0], np.maximum(tied[0], 1e-300)
        total = others + tied
        ratio = total[self.time] / (others[self.time] + self.left * tied[self.time])
        return Hazards(self, e, total, ratio, largest[self.risk.of_time])

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """Slope: martingale residuals, events minus expected events; weight: expected events."""
        found, happened = self.hazards(eta), self.risk.events
        # relative to the largest of the stratum, as the denominators are: their levels cancel
        below = eta[happened] - found.largest[self.risk.own]
        value = float(self.events[happened] @ below - found.value)
        expected = found.expected
        return Derivatives(value, self.events - expected, expected, found)

    def cumulative_hazard(self, eta: FloatArray) -> FloatArray:
        """Breslow's cumulative baseline hazard of the stratum, with Efron's ties, at each event time (K,)."""
        found = self.hazards(eta)
        increments = found.increments * np.exp(-found.largest)
        strata = np.split(increments, np.flatnonzero(np.diff(self.risk.of_time)) + 1)
        return np.concatenate([np.cumsum(of_stratum) for of_stratum in strata])


def efron(d: float) -> FloatArray:
    """Efron's factors g_l = (d − l)/d of events with weight d, and the number u_l that each stands for (2, t).

    The first terms from the end stand for themselves. Further terms are summed in blocks of 16, 32, 64, …, each by
    Gauss's rule for sums over equally spaced points: log and reciprocals of a + g, a ≥ 0, are exact to rounding.

    >>> efron(3.0).round(3)
    array([[1.   , 0.667, 0.333],
           [1.   , 1.   , 1.   ]])
    """
    n = max(int(np.ceil(d - 1e-9)), 1)
    last = d - (n - 1)
    left, amount = [np.array([last])], [np.array([min(1.0, last)])]
    edges = [0, *(2**i for i in range(4, n.bit_length()) if 2**i < n - 1), n - 1]
    for start, end in itertools.pairwise(edges):
        nodes, stands_for = gauss_sum(end - start)
        left.append(last + 1.0 + start + nodes)
        amount.append(stands_for)
    return np.stack([np.concatenate(left)[::-1] / d, np.concatenate(amount)[::-1]])


@lru_cache(maxsize=64)
def gauss_sum(n: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights (at most NODES) whose weighted sum is that over 0, …, n − 1, for smooth functions.

    Exact for polynomials of degree below 2 NODES: the roots of Chebyshev's discrete polynomials.

    >>> points, weights = gauss_sum(1000)
    >>> (weights @ points**3).round(3), sum(i**3 for i in range(1000))
    (np.float64(249500250000.0), 249500250000)
    """
    if n <= BLOCK:
        return np.arange(float(n)), np.ones(n)
    j = np.arange(1.0, NODES)
    off = np.sqrt(np.square(j) * (float(n) ** 2 - np.square(j)) / (4.0 * (4.0 * np.square(j) - 1.0)))
    points, vectors = linalg.eigh_tridiagonal(np.full(NODES, 0.5 * (n - 1)), off)
    return points, n * np.square(vectors[0])


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
        return self.terms.cumulative_hazard(self._answer(S).mean() @ self._rows(S))


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
