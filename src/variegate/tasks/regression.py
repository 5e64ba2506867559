"""Numbers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from .. import metrics
from ..likelihoods import Gaussian, QuadraticLikelihood, Squares, Terms
from ..screening import f_statistics
from ..types import FloatArray


@dataclass(frozen=True)
class Regression:
    """A number to predict.

    >>> X = np.array([[0.0, 1.0], [1.0, 1.5], [2.0, 1.0], [3.0, 2.0]])
    >>> Regression().strengths(X, np.array([0.1, 0.9, 2.1, 2.9])).argmax()
    np.int64(0)
    """

    name: ClassVar[str] = "regression"
    accuracy: ClassVar[str] = "R2"
    question: ClassVar[str] = "a number for each row"
    effect: ClassVar[str] = "the outcome"

    def likelihoods(self, X: Any, y: NDArray[Any], **options: Any) -> list[QuadraticLikelihood]:
        """Linear regression."""
        model = Gaussian(X, y, **options)
        if options.get("covariates") is not None and model.rows_left <= 0:
            raise ValueError(
                f"always_include must name fewer columns than there are rows, {len(y)}: with the intercept "
                "they explain every outcome exactly, and nothing is left for the others; name fewer."
            )
        return [model]

    def terms(self, y: NDArray[Any], weights: FloatArray | None = None) -> list[Terms]:
        """The log-likelihood of numbers with unit noise."""
        return [Squares(np.asarray(y, dtype=np.float64), weights)]

    def strengths(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> FloatArray:
        """F statistics."""
        return f_statistics(X, y, sample_weight)

    def strata(self, y: NDArray[Any]) -> None:
        """None."""

    def score(self, y: NDArray[Any], predicted: FloatArray) -> float:
        """R²."""
        return float(metrics.r2(y, predicted))

    def scores(self, X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], y_test: NDArray[Any]) -> dict[str, float]:
        """Scores of least squares."""
        predicted = LinearRegression().fit(X, y).predict(X_test)
        return {"R2": float(metrics.r2(y_test, predicted)), "MSE": float(metrics.mse(y_test, predicted))}
