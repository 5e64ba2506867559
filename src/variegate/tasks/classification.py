"""Classes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import metrics
from ..likelihoods import Logistic, Logits, QuadraticLikelihood, Terms
from ..screening import likelihood_ratios
from ..types import FloatArray
from .protocol import RIDGE


@dataclass(frozen=True)
class Classification:
    """A class to predict. Several classes are one-vs-rest problems that share a set.

    >>> len(Classification().terms(np.array([0, 1, 2, 1]))), len(Classification().terms(np.array([0, 1])))
    (3, 1)
    """

    name: ClassVar[str] = "classification"
    accuracy: ClassVar[str] = "AUC"
    question: ClassVar[str] = "which class a row belongs to"
    effect: ClassVar[str] = "the log-odds of “{label}”"

    def likelihoods(self, X: Any, y: NDArray[Any], **options: Any) -> list[QuadraticLikelihood]:
        """Logistic regressions."""
        return [Logistic(X, t, **options) for t in indicators(y)]

    def terms(self, y: NDArray[Any], weights: FloatArray | None = None) -> list[Terms]:
        """The log-likelihood of each indicator."""
        return [Logits(t, weights) for t in indicators(y)]

    def strengths(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> FloatArray:
        """Likelihood ratios of logistic regressions, summed over the indicators."""
        return np.asarray(np.sum([likelihood_ratios(X, t, sample_weight) for t in indicators(y)], axis=0))

    def strata(self, y: NDArray[Any]) -> NDArray[Any]:
        """The classes."""
        return y

    def score(self, y: NDArray[Any], predicted: FloatArray) -> float:
        """The area under the ROC curve."""
        return metrics.auc(y, predicted)

    def scores(self, X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], y_test: NDArray[Any]) -> dict[str, float]:
        """Scores of logistic regression with a weak ridge."""
        model = make_pipeline(StandardScaler(), LogisticRegression(C=1 / RIDGE, max_iter=1000)).fit(X, y)
        p = model.predict_proba(X_test)
        accuracy = float(np.mean(p.argmax(axis=1) == y_test))
        return {"AUC": metrics.auc(y_test, p), "log loss": metrics.log_loss(y_test, p), "accuracy": accuracy}


def indicators(codes: NDArray[Any]) -> list[FloatArray]:
    """0/1 for the second of two classes, or for each of more than two against the rest.

    >>> indicators(np.array([0, 1, 1]))
    [array([0., 1., 1.])]
    """
    K = int(np.max(codes)) + 1
    return [(np.asarray(codes) == k).astype(np.float64) for k in (range(1, 2) if K == 2 else range(K))]
