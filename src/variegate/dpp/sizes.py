"""The distribution of |S|, and how it changes when a constant is added to θ."""

from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ..types import FloatArray, IntArray
from .poisson_binomial import shift_for_size

# Number of sets that are grown in parallel. M = 2000 in blocks of ten, rank 500: with 32 sets, the error of log e_k is
# 0.01 for k = 50 and 0.1 for k = 150 at any power from 0.5 to 3, and 0.7 for k = 150 at power 12.
FEWEST, MOST = 32, 4096
WORK = 4e9  # multiplications up to which more sets are used: half a second
NEARLY_ALL = 0.9  # largest expected size as a fraction of the largest possible: towards 1, t goes to infinity
DEPENDENT = 1e-12  # squared residuals below this count as zero


class SizeLaw(Protocol):
    """P(|S| = k) ∝ e^{tk} e_k, e_k = Σ_{|S|=k} of the weights of sets.

    >>> law: SizeLaw = Trials(np.zeros(4))
    >>> law.expected(0.0)
    2.0
    """

    @property
    def rank(self) -> int:
        """Size of the largest set with positive probability, or an upper bound."""

    @property
    def largest_expected(self) -> float:
        """Largest expected size that `shift` takes."""

    def expected(self, t: float) -> float:
        """E|S| with t added to θ."""

    def log_normalizer(self, t: float) -> float:
        """log Σ_k e^{tk} e_k."""

    def shift(self, expected_size: float) -> float:
        """The t that gives this expected size."""


class Trials(NamedTuple):
    """|S| is the number of successes in independent trials, as for DPPs.

    >>> Trials(np.zeros(4)).shift(2.0)
    0.0
    """

    log_odds: FloatArray  # (n,) of each trial: the logs of the eigenvalues of L

    @property
    def rank(self) -> int:
        """The number of trials."""
        return len(self.log_odds)

    @property
    def largest_expected(self) -> float:
        """Nearly all of them."""
        return NEARLY_ALL * self.rank

    def expected(self, t: float) -> float:
        """Σ σ(log-odds + t)."""
        return float(expit(self.log_odds + t).sum())

    def log_normalizer(self, t: float) -> float:
        """Σ log(1 + e^{log-odds + t})."""
        return float(np.logaddexp(0.0, self.log_odds + t).sum())

    def shift(self, expected_size: float) -> float:
        """The t that gives this expected size."""
        return shift_for_size(self.log_odds, expected_size)


class Sums(NamedTuple):
    """|S| given log e_k up to some k; larger sets are ignored.

    >>> round(Sums(np.log([1.0, 2.0, 1.0]), 2).expected(0.0), 9)  # two fair coins
    1.0
    """

    log_sums: FloatArray  # (K + 1,) log e_k
    rank: int

    @property
    def largest_expected(self) -> float:
        """Nearly all items, or the half of them that `largest_sum` makes room for."""
        return (NEARLY_ALL if len(self.log_sums) > self.rank else 0.5) * self.rank

    def expected(self, t: float) -> float:
        """E|S|."""
        k = np.arange(len(self.log_sums))
        return float(k @ np.exp(self.log_sums + t * k - self.log_normalizer(t)))

    def log_normalizer(self, t: float) -> float:
        """log Σ_k e^{tk} e_k."""
        return float(np.logaddexp.reduce(self.log_sums + t * np.arange(len(self.log_sums))))

    def shift(self, expected_size: float) -> float:
        """The t that gives this expected size."""
        middle = float(np.log(expected_size)) - float(self.log_sums[1])
        low, high = middle - 1.0, middle + 1.0
        while self.expected(low) > expected_size:
            low -= 2 * (high - low)
        while self.expected(high) < expected_size:
            high += 2 * (high - low)
        return float(brentq(_excess, low, high, args=(self, expected_size), xtol=1e-12))

    def shifted(self, t: float) -> "Sums":
        """The law with t added to θ."""
        return self._replace(log_sums=self.log_sums + t * np.arange(len(self.log_sums)))


def _excess(t: float, law: Sums, expected_size: float) -> float:
    return law.expected(t) - expected_size


def largest_sum(rank: int) -> int:
    """Largest k for which e_k is needed: half of the rank, the largest expected size, plus five deviations."""
    return min(rank, int(0.5 * rank + 2.5 * np.sqrt(rank)) + 5)


def grown_sums(units: FloatArray, log_weights: FloatArray, power: float, rng: np.random.Generator) -> Sums:
    """log e_k, e_k = Σ_{|S|=k} e^{w(S)} det([UUᵀ]_S)^power, for unit rows U (M, d) and weights w (M,).

    Sets grow one item at a time. A set T of k + 1 items can grow from k + 1 sets, of which T∖m has the share b(m | T),
    so e_{k+1}/e_k = E[Σ_m w(m | S) b(m | S∪m)] over sets S of size k, for any shares with sum one; particles whose
    weights differ too much are resampled (sequential Monte Carlo). The shares b(m | T) ∝ 1/(w_m + c), c the weight of
    all but the heaviest K items, are those with which items come in: heavy ones first. O(MdK) for each particle.
    """
    some = np.flatnonzero(np.isfinite(log_weights))
    units, log_weights = units[some], log_weights[some]
    M, d = units.shape
    rank, K = min(M, d), largest_sum(min(M, d))
    n = int(np.clip(WORK / (M * d * max(K, 1)), FEWEST, MOST))
    light = np.sort(log_weights)[: max(M - K, 0)]
    log_last = -np.logaddexp(log_weights, np.logaddexp.reduce(light, initial=-np.inf))
    none = np.full(n, -np.inf)
    grown = _Grown(np.tile(log_weights, (n, 1)), log_last, none, np.ones((n, M)), np.zeros((K, n, d)))
    log_sums, log_known, log_share = [0.0], 0.0, np.zeros(n)  # of particles, since they were last resampled
    for k in range(K):
        odds, log_total = grown.odds(power)
        log_share = log_share + log_total
        log_mean = float(np.logaddexp.reduce(log_share)) - np.log(n)
        if log_mean == -np.inf:
            rank = k
            break
        log_sums.append(log_known + log_mean)
        share = np.exp(log_share - log_share.max())
        if share.sum() ** 2 < 0.5 * n * np.square(share).sum():
            kept = np.searchsorted(np.cumsum(share), (np.arange(n) + rng.random()) / n * share.sum() * (1 - 1e-12))
            grown, odds = grown.take(kept), odds[kept]
            log_known, log_share = log_known + log_mean, np.zeros(n)
        grown.add(units, (np.cumsum(odds, axis=1) > rng.random((n, 1))).argmax(axis=1), k)
    return Sums(np.array(log_sums), rank)


class _Grown(NamedTuple):
    """n sets that grow in parallel."""

    log_weights: FloatArray  # (n, M) of items outside, −inf inside
    log_last: FloatArray  # (M,) log of b(m | T) up to a constant of T
    log_lasts: FloatArray  # (n,) log of its sum over the members
    left: FloatArray  # (n, M) squared residuals of the unit rows
    basis: FloatArray  # (K, n, d) of each set's span

    def odds(self, power: float) -> tuple[FloatArray, FloatArray]:
        """The share of each item in w(m | S) b(m | S∪m), given the set (n, M), and the log of their sum (n,)."""
        last = self.log_last - np.logaddexp(self.log_last, self.log_lasts[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            log_odds = self.log_weights + last + power * np.log(np.where(self.left > DEPENDENT, self.left, 0.0))
            top = log_odds.max(axis=1, keepdims=True)
            odds = np.exp(log_odds - np.maximum(top, -1e300))
            total = odds.sum(axis=1)
            return odds / total[:, None], np.log(total) + top[:, 0]

    def take(self, kept: IntArray) -> "_Grown":
        """Some of the sets, possibly repeated."""
        return _Grown(
            self.log_weights[kept], self.log_last, self.log_lasts[kept], self.left[kept], self.basis[:, kept]
        )

    def add(self, units: FloatArray, new: IntArray, k: int) -> None:
        """Add an item to each set of k items."""
        basis, direction = self.basis[:k], units[new]
        for _ in range(2):  # twice is enough (Kahan)
            direction = direction - np.einsum("knd,kn->nd", basis, np.einsum("knd,nd->kn", basis, direction))
        direction /= np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-300)
        self.basis[k] = direction
        self.left[:] -= np.square(direction @ units.T)
        self.log_weights[np.arange(len(new)), new] = -np.inf
        self.log_lasts[:] = np.logaddexp(self.log_lasts, self.log_last[new])
