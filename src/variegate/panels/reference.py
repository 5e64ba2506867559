"""What a panel is to reproduce: the predictions of any model, and how much an error of theirs matters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..likelihoods import Auxiliary, Softmax, Terms
from ..types import FloatArray

KEPT = 0.999  # share of the draws' variance that their principal parts keep
FLAT = 1e-10  # directions of what every rule has with a smaller share of the largest eigenvalue are dependent
MOST_PARTS = 8  # of each outcome; on colon, sets of ten from 8, 24 and 100 parts have AUC .873, .860 and .859 (± .02)


@dataclass(frozen=True, eq=False)
class Reference:
    """Linear predictors η (K, N) of a model, and the log-likelihoods that say how much an error in them matters.

    There is one for each of K outcomes, or one of K exclusive classes.

    Draws from a posterior say how well η is known. Averaged over draws, what a set leaves is what it leaves of η plus
    what it leaves of the `parts` of their variation. What every rule has explains its part of them for any set.
    """

    eta: FloatArray  # (K, N)
    terms: Sequence[Terms] | Softmax
    noise: FloatArray | None = None  # (K,) variance of the noise of numbers; None: the log-likelihoods contain it
    draws: FloatArray | None = None  # (D, K, N)
    covariates: FloatArray | None = None  # (p, N) which every rule has beside an intercept

    @property
    def fixed(self) -> FloatArray:
        """What every rule has (1 + p, N)."""
        ones = np.ones((1, self.eta.shape[-1]))
        return ones if self.covariates is None else np.vstack([ones, self.covariates])

    @property
    def rows(self) -> float:
        """Σ w, the number of rows that the curvature is worth."""
        return float(self.curvature.precision.sum())

    @cached_property
    def curvature(self) -> Auxiliary:
        """H, one for all K: the information of the rows, averaged over draws and over the log-likelihoods.

        Coupled rows (Cox's risk sets) are expanded at η.
        """
        if isinstance(self.terms, Softmax):
            return Auxiliary(self.terms.weight(self._drawn).mean(axis=0), np.zeros(self.eta.shape[-1]))
        first = self.terms[0].derivatives(self.eta[0])
        if first.shared is not None:
            return Auxiliary(first.weight, np.zeros_like(first.weight), first.shared)
        weights = [term.derivatives(eta).weight for k, term in enumerate(self.terms) for eta in self._drawn[:, k]]
        return Auxiliary(np.mean(weights, axis=0), np.zeros(self.eta.shape[-1]))

    @cached_property
    def slopes(self) -> FloatArray:
        """Slopes of the log-likelihoods (K, N), averaged over draws: a rule with the same predicts the same means."""
        assert not isinstance(self.terms, Softmax)
        drawn = self._drawn if self.noise is None else self.eta[None]  # of numbers, the mean slope is that at the mean
        return np.stack(
            [
                np.mean([term.derivatives(eta).slope for eta in drawn[:, k]], axis=0)
                for k, term in enumerate(self.terms)
            ]
        )

    @property
    def probabilities(self) -> FloatArray:
        """Of exclusive classes (K, N), averaged over draws."""
        assert isinstance(self.terms, Softmax)
        return np.asarray(self.terms.probabilities(self._drawn).mean(axis=0))

    @property
    def _drawn(self) -> FloatArray:
        return self.eta[None] if self.draws is None else self.draws

    def loss(self, left: FloatArray) -> FloatArray:
        """Expected loss in nats (…,) of a rule that leaves `left` (…, R) of the targets.

        Σ_k n/2 log(1 + left_k/(n s_k²)) for numbers with noise s², otherwise ½ Σ left.
        """
        total = np.maximum(left, 0.0) @ self.owner
        if self.noise is None:
            return np.asarray(0.5 * total.sum(axis=-1))
        return np.asarray(0.5 * self.rows * np.log1p(total / (self.rows * self.noise)).sum(axis=-1))

    def squared(self, Z: FloatArray) -> FloatArray:
        """ZHZᵀ of each row (…, N)."""
        flat = Z.reshape(-1, Z.shape[-1])
        return np.asarray(np.einsum("kn,kn->k", flat, self.curvature.times(flat)).reshape(Z.shape[:-1]))

    @cached_property
    def uncertainty(self) -> float | None:
        """Σ_k mean |η_draw − η|²_H: what the posterior itself does not know about η; None without draws.

        Beyond what every rule has, as in what a set leaves.
        """
        if self.draws is None:
            return None
        return float(self.squared(unexplained(self.draws - self.eta, self.fixed, self.curvature)).mean(axis=0).sum())

    @property
    def targets(self) -> FloatArray:
        """η and the principal parts of its draws (R, N)."""
        return np.concatenate([self.eta, *self._parts])

    @cached_property
    def owner(self) -> FloatArray:
        """The outcome that each target belongs to, as zeros and ones (R, K)."""
        one = np.eye(len(self.eta))
        return np.concatenate([one, *(np.tile(one[k], (len(part), 1)) for k, part in enumerate(self._parts))])

    @cached_property
    def _parts(self) -> list[FloatArray]:
        """Parts (r, N) of each outcome, or of all together if only the sum over outcomes matters."""
        if self.draws is None:
            return []
        around = unexplained(self.draws - self.draws.mean(axis=0), self.fixed, self.curvature)
        around = around / np.sqrt(len(self.draws))
        if self.noise is None:
            return [self._principal(around.reshape(-1, around.shape[-1]), MOST_PARTS * around.shape[1])]
        return [self._principal(around[:, k], MOST_PARTS) for k in range(around.shape[1])]

    def _principal(self, around: FloatArray, most: int) -> FloatArray:
        """Principal parts (r, N) of rows (n, N): the sum over rows of what a set leaves is nearly that over parts."""
        values, vectors = np.linalg.eigh(self.curvature.times(around) @ around.T)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        total = values.sum()
        enough = int(np.searchsorted(np.cumsum(values), KEPT * total)) + 1 if total > 0 else 0
        return np.asarray(vectors[:, : min(enough, most)].T @ around)


def unexplained(Z: FloatArray, fixed: FloatArray, curvature: Auxiliary) -> FloatArray:
    """Rows Z (…, N) less what rows F (p, N) explain of them: Z − ZHFᵀ(FHFᵀ)⁻¹F.

    >>> unexplained(np.array([1.0, 3.0]), np.ones((1, 2)), Auxiliary(np.array([3.0, 1.0]), np.zeros(2)))
    array([-0.5,  1.5])
    """
    weighted = curvature.times(fixed)
    inverse = np.linalg.pinv(weighted @ fixed.T, rcond=FLAT, hermitian=True)
    return np.asarray(Z - (Z @ weighted.T) @ inverse @ fixed)
