"""Correction of approximate flip gains by a few exact evaluations.

With frozen EP sites a gain is off by several percent, and θ would be too. The error of stage B's first term is
E[w_m e_m]: pairs (set, feature) are drawn in proportion to w, the evidence of the flipped set is computed, and the
average error of each feature is added to its gains. A few exact evaluations per batch remove most of the bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from ...types import FloatArray, IntArray
from ..target import Batch, Target
from . import tuning


@dataclass
class GainCorrection:
    """Running averages of the errors, updated in place."""

    total: FloatArray
    count: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.count = np.zeros_like(self.total)

    @classmethod
    def for_target(cls, target: Target) -> Self | None:
        """A correction if gains are approximate and the size is free, else None."""
        if target.exact_gains or not target.has_gains or target.size is not None:
            return None
        return cls(np.zeros(target.n_features))

    @property
    def error(self) -> FloatArray:
        """What to add to the gains (M,); half a pseudo-observation of zero error damps single pairs."""
        return np.asarray(self.total / (self.count + 0.5))

    def learn(
        self, target: Target, sets: Sequence[IntArray], batch: Batch, w: FloatArray, rng: np.random.Generator
    ) -> None:
        """Compare some gains of this batch with exact ones, pairs (set, feature) drawn in proportion to w (n, M)."""
        self.total *= tuning.MEMORY
        self.count *= tuning.MEMORY
        w = w.ravel()
        n = min(max(tuning.PAIRS, tuning.PAIRS_OF_FEW // target.n_features), int((w > tuning.WORTHWHILE).sum()))
        if n == 0:
            return
        for pair in np.unique(rng.choice(len(w), size=n, p=w / w.sum())):
            row, m = divmod(int(pair), target.n_features)
            flipped = target.log_evidence(np.setxor1d(sets[row], [m]))
            gain = batch.log_evidence[row] - flipped if batch.members[row, m] else flipped - batch.log_evidence[row]
            self.total[m] += gain - batch.gains[row, m]
            self.count[m] += 1
