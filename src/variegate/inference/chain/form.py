"""The posterior over some features as one quadratic form, small enough to embed in a report."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...types import FloatArray, IntArray
from .problem import Grid


class Parts(NamedTuple):
    """The two terms of one outcome's form for a set, with A = G_SS + cI."""

    half_log_det: float  # ½(log|A| − |S| log c)
    half: float  # ½ b_Sᵀ A⁻¹ b_S

    def log_evidence(self, noise: FloatArray) -> float:
        """Log evidence up to a constant, for shape, rate and floor."""
        shape, rate, floor = noise
        fit = self.half if shape == 0 else -shape * np.log(max(rate - np.sign(shape) * self.half, floor))
        return float(fit - self.half_log_det)


@dataclass(frozen=True, eq=False)
class Form:
    """log p(S | y) for sets of n features with C columns, as in `Problem`; all others are left out.

    Exact for regression. For other outcomes it is an expansion of the likelihood around the posterior, fitted to the
    evidence of sampled sets; see `form_fit`. Then the shape is negative: with A = G_SS + cI and x = b_Sᵀ A⁻¹ b_S, the
    log evidence is −½(log|A| − |S| log c) + |shape| log(rate + ½x).
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
        return sum(p.log_evidence(noise) for p, noise in zip(self.parts(S, j), self.noise, strict=True))

    def parts(self, S: IntArray, j: int) -> list[Parts]:
        """The terms of each outcome's form for the features at positions S, with slab precision number j."""
        c = float(np.exp(self.grid.log_c[j]))
        S = np.concatenate([np.arange(self.first[m], self.first[m + 1]) for m in S] or [np.arange(0)])
        ridge = c * np.eye(len(S))
        return [_parts(G[np.ix_(S, S)] + ridge, b[S], c) for G, b in zip(self.gram, self.information, strict=True)]


def _parts(A: FloatArray, b: FloatArray, c: float) -> Parts:
    log_det = float(np.linalg.slogdet(A)[1])
    return Parts(0.5 * (log_det - len(b) * float(np.log(c))), 0.5 * float(b @ np.linalg.solve(A, b)))
