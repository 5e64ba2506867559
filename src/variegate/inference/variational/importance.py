"""Pareto-smoothed importance weights: how well sets from q represent the posterior."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ...types import FloatArray

ALIKE = 0.9  # weights with a larger effective size, as a fraction of n, are too equal to have a tail


class ImportanceWeights(NamedTuple):
    """Weights target/q of sets drawn from q, smoothed, summing to one."""

    weights: FloatArray  # (n,)
    pareto_k: float  # shape of the tail of the raw weights: below 0.5 good, above 0.7 unreliable

    @property
    def effective_size(self) -> float:
        """Number of posterior sets that the weighted sets are worth."""
        return float(1.0 / np.square(self.weights).sum())


def smooth(log_ratios: FloatArray) -> ImportanceWeights:
    """Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao & Gabry).

    The largest weights are replaced by quantiles of a generalised Pareto distribution fitted to them. If the weights
    are nearly equal, or the largest ones are, there is no tail to fit, and k̂ is 0: sets are discrete, and a few that
    recur with the same weight would look like a heavy tail.
    """
    n = len(log_ratios)
    raw = np.exp(log_ratios - log_ratios.max())
    size = int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))
    order = np.argsort(raw, kind="stable")
    tail, cutoff = order[-size:], raw[order[-size - 1]] if n > size else 0.0
    excess = raw[tail] - cutoff
    plain = ImportanceWeights(raw / raw.sum(), 0.0)
    if plain.effective_size > ALIKE * n or not excess.any():
        return plain
    if n < 25 or np.count_nonzero(excess > 0) < 5:  # a few weights dominate
        return plain._replace(pareto_k=np.inf)
    k, sigma = fit_pareto(excess[excess > 0])
    quantiles = (np.arange(size) + 0.5) / size
    smoothed = -sigma * np.log1p(-quantiles) if abs(k) < 1e-12 else sigma * np.expm1(-k * np.log1p(-quantiles)) / k
    weights = raw.copy()
    weights[tail] = np.minimum(cutoff + smoothed, raw[order[-1]])
    return ImportanceWeights(weights / weights.sum(), float(k))


def fit_pareto(excess: FloatArray) -> tuple[float, float]:
    """Shape k and scale σ of a generalised Pareto distribution from sorted positive excesses (Zhang & Stephens 2009).

    A weakly informative prior pulls k towards 0.5, as is usual for importance weights.
    """
    n = len(excess)
    m = 30 + int(np.sqrt(n))
    quartile = excess[max(int(n / 4 + 0.5) - 1, 0)]
    b = 1 / excess[-1] + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quartile)
    k = np.log1p(-b[:, None] * excess).mean(axis=1)
    log_likelihood = n * (np.log(-b / k) - k - 1)
    weight = np.exp(log_likelihood - logsumexp(log_likelihood))
    best = float((b * weight).sum())
    shape = float(np.log1p(-best * excess).mean())
    sigma = -shape / best
    return (n * shape + 5.0) / (n + 10.0), sigma
