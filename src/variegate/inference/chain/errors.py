"""Averages over chains and their Monte Carlo errors, by batch means."""

from typing import NamedTuple

import numpy as np

from ...types import FloatArray

MOST = 8  # batches per chain; when there are twice as many, neighbours are merged
LEVELS = 3  # single batches, pairs, fours: the largest of their variances is used, in case chains have a long memory
# Variance between chains divided by that expected from batches, an F(3, ≥ 28) ratio for four chains. Above this (by
# chance for one feature in ten thousand), batches are shorter than the chain's memory, and whole chains are used.
TELLING = 10.0


class Averages(NamedTuple):
    """Inclusion probabilities and their errors; arrays (M,)."""

    inclusion: FloatArray
    error: FloatArray
    disagreement: FloatArray  # variance between chains divided by that expected from batches: about 1


class Batches:
    """Sums of weighted probabilities and of weights, in batches of laps whose length grows.

    With `counted` they are counts of sets: if a feature is in none of n sets, or in all, its error is at least 1/n.
    """

    def __init__(self, n_chains: int, n_features: int, counted: bool = False) -> None:
        self.counted = counted
        self.inclusion = np.zeros((n_chains, 2 * MOST, n_features))
        self.weight = np.zeros((n_chains, 2 * MOST, n_features))
        self.used, self.length, self.laps = 0, 1, 0

    def add(self, inclusion: FloatArray, weight: FloatArray) -> None:
        """Add one lap of every chain, arrays (chains, M)."""
        if self.laps % self.length == 0:
            if self.used == 2 * MOST:
                self._merge()
            self.used += 1
        self.inclusion[:, self.used - 1] += inclusion
        self.weight[:, self.used - 1] += weight
        self.laps += 1

    def _merge(self) -> None:
        for sums in (self.inclusion, self.weight):
            sums[:, :MOST] = sums[:, 0::2] + sums[:, 1::2]
            sums[:, MOST:] = 0.0
        self.used, self.length = MOST, 2 * self.length

    def averages(self) -> Averages:
        """Σ inclusion / Σ weight over all batches, with the error of this ratio."""
        chains, _, M = self.inclusion.shape
        inclusion, weight = self.inclusion[:, : self.used], self.weight[:, : self.used]
        total = weight.sum(axis=(0, 1))
        total[total == 0] = 1.0  # features that never move: their inclusion is 0 too
        p = np.minimum(inclusion.sum(axis=(0, 1)) / total, 1.0)
        off = inclusion - p * weight
        short = np.max([_variance(parts.reshape(-1, M)) for parts in _levels(off)], axis=0) / total**2
        if self.counted:
            short = np.where(weight.sum(axis=(0, 1)) > 0, np.maximum(short, 1.0 / total**2), short)
        if chains == 1:
            return Averages(p, np.sqrt(short), np.ones(M))
        long = _variance(off.sum(axis=1)) / total**2
        own = off - off.mean(axis=1, keepdims=True)  # relative to the chain's average
        within = np.square(own).sum(axis=(0, 1)) * self.used / max(self.used - 1, 1) / total**2
        disagreement = np.divide(long, within, out=np.ones(M), where=within > 0)
        return Averages(p, np.sqrt(np.where(disagreement > TELLING, long, short)), disagreement)


def _levels(parts: FloatArray) -> list[FloatArray]:
    """Batches (chains, B, M), and the same merged into pairs and fours, as long as each chain has two of them."""
    found = [parts]
    while len(found) < LEVELS and found[-1].shape[1] >= 4:
        last = found[-1]
        pairs = last[:, : last.shape[1] // 2 * 2]
        merged = pairs[:, 0::2] + pairs[:, 1::2]
        if last.shape[1] % 2:
            merged = np.concatenate([merged, last[:, -1:]], axis=1)
        found.append(merged)
    return found


def _variance(parts: FloatArray) -> FloatArray:
    """Variance of the sum of n independent parts (n, M)."""
    n = len(parts)
    return np.asarray(np.square(parts).sum(axis=0) * n / max(n - 1, 1))
