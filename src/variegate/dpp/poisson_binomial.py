"""The number of successes in independent trials, and which trials succeed.

|S| of a DPP is a sum of independent Bernoulli(μ_j), μ_j = λ_j/(1+λ_j). A DPP of fixed size k picks k
eigenvectors by the same trials given that k succeed. The elementary symmetric polynomials are

    e_k(λ) = P(|S| = k) ∏(1 + λ_j),

so tables of probabilities replace tables of polynomials, and cannot overflow. O(dk) time and memory.
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ..compiled import numba
from ..sets import BLOCK_BYTES
from ..types import FloatArray, IntArray


@numba.njit(cache=True)
def size_table(mu: FloatArray, k: int) -> FloatArray:
    """P(l of the first j trials succeed) for j = 0…d, l = 0…k, shape (d + 1, k + 1)."""
    d = len(mu)
    table = np.zeros((d + 1, k + 1))
    table[0, 0] = 1.0
    for j in range(d):
        table[j + 1, 0] = table[j, 0] * (1.0 - mu[j])
        for size in range(1, k + 1):
            table[j + 1, size] = table[j, size] * (1.0 - mu[j]) + table[j, size - 1] * mu[j]
    return table


def draw(mu: FloatArray, n: int, rng: np.random.Generator) -> list[IntArray]:
    """Draw the successful trials, n times."""
    return [np.flatnonzero(row < mu) for uniforms in _uniforms(n, len(mu), rng) for row in uniforms]


def draw_given_size(mu: FloatArray, k: int, n: int, rng: np.random.Generator) -> list[IntArray]:
    """Draw the successful trials given that there are k, n times."""
    table = size_table(mu, k)
    return [row for uniforms in _uniforms(n, len(mu), rng) for row in _successes_given_size(mu, table, k, uniforms)]


def _uniforms(n: int, d: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The rows of rng.random((n, d)) in blocks, since all of them may not fit in memory."""
    step = max(1, BLOCK_BYTES // (8 * max(d, 1)))
    return (rng.random((min(step, n - start), d)) for start in range(0, n, step))


@numba.njit(cache=True)
def _successes_given_size(mu, table, k, uniforms):  # type: ignore[no-untyped-def]
    """Sorted successes (n, k); uniforms (n, d)."""
    n = len(uniforms)
    chosen = np.empty((n, k), dtype=np.int64)
    for draw in range(n):
        left = k
        for j in range(len(mu) - 1, -1, -1):
            if left == 0:
                break
            if uniforms[draw, j] * table[j + 1, left] < mu[j] * table[j, left - 1]:
                left -= 1
                chosen[draw, left] = j
    return chosen


def success_prob_given_size(mu: FloatArray, k: int) -> FloatArray:
    """P(trial j succeeds | k trials succeed) for every j, shape (d,)."""
    if k == 0:
        return np.zeros(len(mu))
    before = size_table(mu, k)
    after = size_table(mu[::-1].copy(), k)[::-1]
    others = (before[:-1, :k] * after[1:, k - 1 :: -1]).sum(axis=1)  # P(k − 1 of the other trials succeed)
    return np.asarray(mu * others / before[-1, k])


def log_size_prob(mu: FloatArray, k: int) -> float:
    """log P(|S| = k)."""
    with np.errstate(divide="ignore"):
        return float(np.log(size_table(mu, k)[-1, k]))


def shift_for_size(log_odds: FloatArray, expected_size: float) -> float:
    """Solve Σ_j σ(log_odds_j + c) = expected_size for c; infinite if there are too few trials."""
    if not 0 < expected_size < len(log_odds):
        return np.inf

    reach = abs(np.log(expected_size)) + abs(np.log(len(log_odds) - expected_size))
    width = float(np.abs(log_odds).max()) + 50.0 + np.log(len(log_odds)) + reach
    # brentq keeps its function in a reference cycle, so the function must not keep the arrays
    return float(brentq(_excess, -width, width, args=(log_odds, expected_size), xtol=1e-13, rtol=8.9e-16))


def _excess(c: float, log_odds: FloatArray, expected_size: float) -> float:
    return float(expit(log_odds + c).sum() - expected_size)
