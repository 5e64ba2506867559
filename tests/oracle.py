"""The enumeration oracle: every set of a small problem with its weight, to 60 digits."""

from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
from scipy import stats

mpmath.mp.dps = 60


class Enumerated:
    """All sets S ⊆ {0…M−1} with probabilities proportional to e^{log_weight(S)}."""

    def __init__(self, n_items, weights):
        self.n_items = n_items
        self.sets = [np.array(S, dtype=np.int64) for S in all_sets(n_items)]
        self.weights = weights
        self.total = mpmath.fsum(weights)
        self.prob = np.array([float(w / self.total) for w in weights])
        self.gamma = np.array([np.isin(np.arange(n_items), S) for S in self.sets]).reshape(-1, n_items)
        self.sizes = self.gamma.sum(axis=1)

    @property
    def log_total(self):
        return float(mpmath.log(self.total))

    def expect(self, values):
        return self.prob @ values

    def where(self, keep):
        """Probabilities of the kept sets, renormalised."""
        kept = [w if k else mpmath.mpf(0) for w, k in zip(self.weights, keep, strict=True)]
        total = mpmath.fsum(kept)
        return np.array([float(w / total) for w in kept]), total

    def argmax(self, keep=None):
        keep = np.ones(len(self.sets), dtype=bool) if keep is None else keep
        return max((w, i) for i, (w, k) in enumerate(zip(self.weights, keep, strict=True)) if k)


def all_sets(n_items):
    return [S for size in range(n_items + 1) for S in combinations(range(n_items), size)]


def enumerate_dpp(phi, theta):
    """Weights e^{θ(S)} det(Φ_SΦ_Sᵀ) of all sets, exactly from the given doubles."""
    rows = [[Fraction(x) for x in row] for row in np.asarray(phi, dtype=float).tolist()]
    gram = [[sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0)) for v in rows] for u in rows]
    quality = [mpmath.exp(mpmath.mpf(float(t))) for t in theta]
    weights = []
    for S in all_sets(len(rows)):
        volume = determinant([[gram[i][j] for j in S] for i in S])
        weights.append(mpmath.mpf(volume.numerator) / volume.denominator * mpmath.fprod(quality[i] for i in S))
    return Enumerated(len(rows), weights)


def determinant(matrix):
    """Determinant of a positive semidefinite matrix of fractions, by elimination: no rounding at all."""
    matrix, product = [row[:] for row in matrix], Fraction(1)
    for k, pivot in enumerate(matrix):
        if pivot[k] == 0:
            return Fraction(0)
        product *= pivot[k]
        for row in matrix[k + 1 :]:
            factor = row[k] / pivot[k]
            row[k:] = [x - factor * y for x, y in zip(row[k:], pivot[k:], strict=True)]
    return product


def enumerate_independent(theta):
    return enumerate_dpp(np.eye(len(theta)), theta)


def g_test(draws, oracle, prob=None):
    """p-value of Wilks' G test of drawn sets against their enumerated probabilities, rare sets pooled."""
    prob = oracle.prob if prob is None else prob
    index = {tuple(S.tolist()): i for i, S in enumerate(oracle.sets)}
    counts = np.bincount([index[tuple(S.tolist())] for S in draws], minlength=len(prob))
    if counts[prob == 0].any():
        return 0.0
    return g_test_counts(counts, prob)


def g_test_counts(counts, prob):
    expected = prob * counts.sum()
    order = np.argsort(-expected)
    counts, expected = counts[order], expected[order]
    common = int((expected >= 5).sum())
    counts = np.append(counts[:common], counts[common:].sum())
    expected = np.append(expected[:common], expected[common:].sum())
    if expected[-1] < 5 and common > 0:  # too rare even when pooled: add them to the rarest common set
        counts = np.append(counts[:-2], counts[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    if len(counts) == 1:
        return 1.0  # only one outcome is possible
    seen = counts > 0
    G = 2 * (counts[seen] * np.log(counts[seen] / expected[seen])).sum()
    return float(stats.chi2.sf(G, len(counts) - 1))
