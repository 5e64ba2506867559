"""The posterior over some features as one quadratic form, small enough to embed in a report."""

from dataclasses import dataclass

import numpy as np

from ...likelihoods import Factor, factorise, gain
from ...types import FloatArray, IntArray
from .problem import Grid


@dataclass(frozen=True, eq=False)
class Excerpt:
    """log p(S | y) for sets of n features with C columns, as in `Problem`; all others are left out.

    Exact for regression. For other outcomes it is an expansion of the likelihood around the posterior, fitted to the
    evidence of sampled sets; see `excerpt_fit`. Then the shape is negative: with A = G_SS + cI and x = b_Sᵀ A⁻¹ b_S,
    the log evidence is −½(log|A| − |S| log c) + |shape| log(1 + ½x/rate).
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
    largest: int  # number of features in the largest sampled set
    off: float = 0.0  # estimated largest error of an inclusion probability, without conditions; 0 if exact

    @property
    def exact(self) -> bool:
        """Whether it is the posterior itself."""
        return bool((self.noise[:, 0] > 0).all())

    def log_joint(self, S: IntArray, at: tuple[int, int]) -> float:
        """log p(y, S, hyperparameters) up to a constant, for positions S among `features`. O(|S|³)."""
        i, j = at
        fixed = self.size is not None
        value = self.grid.log_prior[i, j] - (0.0 if fixed else self.grid.log_normalizer[i])
        value += self.tilt[S].sum() + len(S) * self.grid.log_kappa[i]
        value += self.log_evidence(S, j)
        if self.cosines is not None:
            volume = self.cosines[np.ix_(S, S)] + self.nugget * np.eye(len(S))
            value += self.power * np.linalg.slogdet(volume)[1]
        return float(value)

    def log_evidence(self, S: IntArray, j: int) -> float:
        """log p(y | S) up to a constant, with slab precision number j."""
        log_c, total = float(self.grid.log_c[j]), 0.0
        for factor, (shape, rate, floor) in zip(self.factors(S, j), self.noise, strict=True):
            explained = factor.explained if shape >= 0 else -factor.explained
            total += float(gain(explained, shape, rate, floor)) - half_log_det(factor, log_c)
        return total

    def factors(self, S: IntArray, j: int) -> list[Factor]:
        """The factor of each outcome's form for the features at positions S, with slab precision number j."""
        c = float(np.exp(self.grid.log_c[j]))
        S = np.concatenate([np.arange(self.first[m], self.first[m + 1]) for m in S] or [np.arange(0)])
        return [factorise(G[np.ix_(S, S)], b[S], c) for G, b in zip(self.gram, self.information, strict=True)]


def half_log_det(factor: Factor, log_c: float) -> float:
    """½(log|A| − |S| log c)."""
    return 0.5 * (factor.log_det - len(factor.u) * log_c)
