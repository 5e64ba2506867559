"""Sets from q and natural-gradient steps, without the features that q all but rules out."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from ...dpp import IndependentSets, LowRankDPP, SetDistribution, SetLaw, of_size
from ...types import FloatArray, IntArray
from ..target import Target
from . import tuning
from .statistics import open_features


class Proposal(NamedTuple):
    """q_θ given that the features outside `active` are not in the set.

    Few of those are in a set on average (tuning.LEFT_OUT), and without them a decomposition costs O(|active|³)
    instead of O(Md² + d³).
    """

    q: SetDistribution
    active: IntArray
    size: int | None

    def draw(self, n: int, rng: np.random.Generator) -> list[IntArray]:
        """Draw n sets, as positions among all features."""
        return [self.active[S] for S in self.law.sample(n, rng)]

    @property
    def law(self) -> SetLaw:
        """The restricted q, with the fixed size if there is one."""
        return of_size(self.q, self.size)

    def natural_direction(self, gradient: FloatArray, inclusion: FloatArray) -> FloatArray:
        """F⁻¹g for one gradient (M,) or each of several (n, M), F = Cov_q(γ) = diag(K) − K∘K.

        Features that q is undecided about are solved for jointly, the others one by one: |F_ij| = K_ij² is at most
        K_ii K_jj. For a fixed size F is that of the DPP with expected size k, which approximates that of the k-DPP;
        `at_right_length` corrects the length.
        """
        variance = np.maximum(inclusion * (1 - inclusion), 1e-10)
        direction = gradient / variance
        q = self.q if self.size is None else self.q.rescaled(min(self.size, 0.95 * self.q.rank))
        if isinstance(q, IndependentSets):
            return direction
        order = np.argsort(-variance[self.active], kind="stable")[: tuning.TOGETHER]
        coupled = np.sort(order[open_features(inclusion[self.active][order])])
        K = q.marginal_kernel(coupled)
        p = K.diagonal()
        F = -np.square(K)
        F[np.diag_indices_from(F)] = p * (1 - p) * (1 + tuning.RIDGE) + 1e-10
        positions = self.active[coupled]
        direction[..., positions] = linalg.solve(F, gradient[..., positions].T, assume_a="pos").T
        return direction


def propose(target: Target, theta: FloatArray, inclusion: FloatArray | None = None) -> Proposal:
    """q_θ on the features that matter according to earlier inclusion probabilities, or on all features."""
    active = np.arange(target.n_features)
    if inclusion is not None and target.n_features > tuning.ALWAYS:
        order = np.argsort(inclusion, kind="stable")
        out = min(
            int(np.searchsorted(np.cumsum(inclusion[order]), tuning.LEFT_OUT)), target.n_features - tuning.ALWAYS
        )
        active = np.sort(order[out:])
    if 2 * len(active) > target.n_features:  # copying rows of Φ would cost more than it saves
        active = np.arange(target.n_features)
        return Proposal(target.distribution(theta), active, target.size)
    if target.phi is None or target.family == "bernoulli":
        return Proposal(IndependentSets(theta[active]), active, target.size)
    return Proposal(LowRankDPP(target.volume.rows.take(active), theta[active]), active, target.size)
