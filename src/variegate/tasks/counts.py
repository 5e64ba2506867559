"""Counts and their exposures."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import metrics
from ..likelihoods import NegativeBinomial, Poisson, PoissonTerms, QuadraticLikelihood, Terms, check_counts
from ..types import COUNTS, FloatArray
from .numbers import numbers
from .protocol import RIDGE
from .strengths import gains_alone


@dataclass(frozen=True)
class Counts:
    """A count to predict. Its variance is μ + αμ² with dispersion α; None: averaged over, 0: Poisson.

    >>> Counts().name, Counts().accuracy
    ('counts', 'D2')
    """

    dispersion: float | None = None
    name: ClassVar[str] = "counts"
    accuracy: ClassVar[str] = "D2"
    question: ClassVar[str] = "a count for each row"
    effect: ClassVar[str] = "the log of the expected count"

    def likelihoods(self, X: Any, y: NDArray[Any], **options: Any) -> list[QuadraticLikelihood]:
        """Negative binomial or Poisson regression."""
        if self.dispersion == 0:
            return [Poisson(X, y["count"], exposure=y["exposure"], **options)]
        return [NegativeBinomial(X, y["count"], exposure=y["exposure"], dispersion=self.dispersion, **options)]

    def terms(self, y: NDArray[Any], weights: FloatArray | None = None) -> list[Terms]:
        """Poisson's log-likelihood."""
        return [PoissonTerms(y["count"], np.log(y["exposure"]), np.ones(len(y)) if weights is None else weights)]

    def strengths(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> FloatArray:
        """Evidence of each column alone."""
        return gains_alone(self.likelihoods(X, y, sample_weight=sample_weight)[0])

    def strata(self, y: NDArray[Any]) -> None:
        """None."""

    def score(self, y: NDArray[Any], predicted: FloatArray) -> float:
        """The share of the Poisson deviance that is explained."""
        return metrics.deviance_explained(y["count"], y["exposure"] * predicted, y["exposure"])

    def scores(self, X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], y_test: NDArray[Any]) -> dict[str, float]:
        """Scores of Poisson regression with a weak ridge, whose means are consistent for any dispersion."""
        model = Poisson(X, y["count"], exposure=y["exposure"], slab_precision=RIDGE)
        mean = y_test["exposure"] * np.exp(model.predictive(np.arange(X.shape[1]), X_test).latent_mean)
        error = float(np.abs(y_test["count"] - mean).mean())
        return {"D2": metrics.deviance_explained(y_test["count"], mean, y_test["exposure"]), "mean error": error}


def count_rows(count: Any, exposure: Any = None) -> NDArray[Any]:
    """Counts and exposures as one array (N,) with the fields count and exposure.

    >>> count_rows([3, 0])["exposure"]
    array([1., 1.])
    """
    given = np.asarray(count)
    if given.dtype == COUNTS:
        if exposure is not None:
            raise ValueError("exposure must be given once, got it also in y; leave one of them out.")
        return given
    y = numbers(given, "y")
    rows = np.ones(len(y), dtype=COUNTS)
    rows["count"] = y
    if exposure is not None:
        size = numbers(exposure, "exposure")
        if size.shape != y.shape:
            raise ValueError(f"exposure must have an entry for each of the {len(y)} rows, got {len(size)}.")
        rows["exposure"] = size
    check_counts(y, rows["exposure"])
    return rows
