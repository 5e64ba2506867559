"""Several outcomes, one set of features."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np
from joblib import Parallel, delayed

from ..types import FloatArray, IntArray
from .approximate import ApproximateLikelihood
from .grouped import Grouped
from .probe import Probe
from .protocol import (
    AugmentedLikelihood,
    ExpandedLikelihood,
    FlipGains,
    FlipLikelihood,
    Predictor,
    QuadraticForm,
    QuadraticLikelihood,
)
from .unsettled import Unsettled


class Predictors(NamedTuple):
    """Linear predictors of the parts of a sum, None for a part without auxiliary variables."""

    parts: tuple[Predictor | None, ...]

    def log_densities(self, scales: FloatArray) -> FloatArray:
        """Sum over the parts; −inf except at λ = 1 if a part has no drawn coefficients to scale."""
        found = [part.log_densities(scales) for part in self.parts if part is not None]
        total: FloatArray = np.sum(found, axis=0)
        return total if len(found) == len(self.parts) else np.where(scales == 1.0, total, -np.inf)

    def auxiliary(self, scale: float, rng: np.random.Generator) -> list[Any]:
        """New auxiliary variables of each part."""
        return [None if part is None else part.auxiliary(scale, rng) for part in self.parts]


def unsettled_of(likelihood: Any) -> list[Unsettled]:
    """The notes on evidences that did not converge, of each part of a likelihood.

    >>> from variegate.likelihoods import Gaussian
    >>> unsettled_of(Gaussian(np.eye(3), np.arange(3.0)))
    []
    """
    if isinstance(likelihood, SumLikelihood):
        return [found for part in likelihood.parts for found in unsettled_of(part)]
    if isinstance(likelihood, Grouped):
        return unsettled_of(likelihood.likelihood)
    return [likelihood.unsettled] if isinstance(likelihood, ApproximateLikelihood) else []


class SumLikelihood:
    """Independent outcomes that share γ: log p(y₁, …, y_K | S) = Σ_k log p(y_k | S).

    Each part has its own coefficients: one-vs-rest classifiers, for example, or several regression outcomes over the
    same columns. Changing the slab precision changes it in all parts. `n_jobs` threads share the parts.

    >>> from variegate.likelihoods import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> both = SumLikelihood([Gaussian(X, y), Gaussian(X, X[:, 3] + rng.normal(size=50))])
    >>> both.n_features, both.exact_gains
    (4, True)
    """

    def __init__(self, parts: Sequence[FlipLikelihood], *, n_jobs: int | None = None) -> None:
        sizes = {part.n_features for part in parts}
        if len(sizes) != 1:
            raise ValueError(f"parts must be likelihoods over the same columns, got sizes {sorted(sizes)}.")
        self.parts = tuple(parts)
        self.n_jobs = n_jobs

    @property
    def n_features(self) -> int:
        """M."""
        return self.parts[0].n_features

    @property
    def slab_precision(self) -> float:
        """Slab precision of the first part."""
        return self.parts[0].slab_precision

    @property
    def exact_gains(self) -> bool:
        """Whether the gains of all parts equal differences of log evidence."""
        return all(part.exact_gains for part in self.parts)

    nuisance = np.nan

    def with_nuisance(self, value: float) -> Self:
        """Return itself: parts keep their own."""
        return self

    def with_slab_precision(self, c: float) -> Self:
        """Return the same parts, each with slab precision c."""
        return type(self)([part.with_slab_precision(c) for part in self.parts], n_jobs=self.n_jobs)

    def roughly(self, rough: bool) -> Self:
        """Return the same parts, each as precise as a fit needs it, or as users do."""
        return type(self)([part.roughly(rough) for part in self.parts], n_jobs=self.n_jobs)

    def log_evidence(self, S: IntArray) -> float:
        """Sum of the parts' log evidence."""
        return sum(part.log_evidence(S) for part in self.parts)

    def flip_gains(self, S: IntArray) -> FlipGains:
        """Sum the parts' gains."""
        values, gains = self.flip_gains_many([S])
        return FlipGains(float(values[0]), gains[0])

    def flip_gains_many(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Sum the parts' batches."""
        # threads: the parts spend their time in BLAS and compiled loops, and share X
        work = (delayed(part.flip_gains_many)(sets) for part in self.parts)
        results = Parallel(n_jobs=self.n_jobs, require="sharedmem")(work)
        values, gains = zip(*results, strict=True)
        return np.sum(values, axis=0), np.sum(gains, axis=0)

    @property
    def _conditional(self) -> tuple[AugmentedLikelihood, ...]:
        return cast(tuple[AugmentedLikelihood, ...], self.parts)

    def _given(self, auxiliary: Any) -> list[tuple[AugmentedLikelihood, Any]]:
        old = [None] * len(self.parts) if auxiliary is None else auxiliary
        return list(zip(self._conditional, old, strict=True))

    @property
    def n_outcomes(self) -> int:
        """Number of forms of all parts; 0 if any part has none."""
        numbers = [part.n_outcomes if isinstance(part, QuadraticLikelihood) else 0 for part in self.parts]
        return sum(numbers) if all(numbers) else 0

    @property
    def can_augment(self) -> bool:
        """Whether the auxiliary variables of all parts can be drawn."""
        return all(part.can_augment for part in self._conditional)

    @property
    def widths(self) -> IntArray:
        """Number of columns of each feature."""
        return self._conditional[0].widths

    @property
    def noise_variance(self) -> float:
        """Variance of the noise of the first part."""
        return self._conditional[0].noise_variance

    def draw_predictor(self, S: IntArray, c: float, auxiliary: Any, rng: np.random.Generator) -> "Predictors | None":
        """Linear predictors of the parts; None if no part has one."""
        found = [part.draw_predictor(S, c, a, rng) for part, a in self._given(auxiliary)]
        return None if all(predictor is None for predictor in found) else Predictors(tuple(found))

    def expand(self, sets: Sequence[IntArray], c: float) -> list[Any]:
        """Expansions of the parts."""
        return [cast(ExpandedLikelihood, part).expand(sets, c) for part in self.parts]

    def columns_of(self, features: IntArray) -> FloatArray:
        """Standardised columns (C, N), which the parts share."""
        return self._conditional[0].columns_of(features)

    def quadratic_forms(self, features: IntArray, Z: FloatArray, auxiliary: Any) -> list[QuadraticForm]:
        """The forms of all parts."""
        return [form for part, a in self._given(auxiliary) for form in part.quadratic_forms(features, Z, a)]

    def grams(self, auxiliary: Any) -> list[tuple[FloatArray, QuadraticForm]]:
        """The Gram matrices of all parts."""
        return [gram for part, a in self._given(auxiliary) for gram in part.grams(a)]

    def probes(self, S: IntArray) -> list[Probe]:
        """The probes of all parts."""
        return [probe for part in self._conditional for probe in part.probes(S)]

    def gram_rows(self, S: IntArray, auxiliary: Any) -> list[tuple[FloatArray, QuadraticForm]]:
        """The Gram rows of all parts."""
        return [rows for part, a in self._given(auxiliary) for rows in part.gram_rows(S, a)]
