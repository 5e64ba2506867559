"""Classification with a diverse set of features."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ..tasks import Classification
from ..types import FloatArray, IntArray
from .documented import documented
from .selector import DiverseSelector


@documented
class DiverseClassifier(ClassifierMixin, DiverseSelector):  # type: ignore[misc]
    """Logistic classification on a diverse set of features, with uncertainty over the set.

    Sets of columns are drawn from their posterior under a determinantal point process prior, which favours features
    that separate the classes and differ from each other. Probabilities are averaged over sets. With more than two
    classes one set serves all one-vs-rest problems, whose evidences are added.

    {parameters}

    {attributes}
    classes_ : (K,)
        The labels.
    coef_, intercept_ : (1, M), (1,), or (K, M), (K,) for more than two classes
        Posterior means in the units of X, averaged over sets.
    map_coef_, map_intercept_ : the same given the chosen set

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = np.where(X[:, 0] - X[:, 4] + 0.5 * rng.normal(size=200) > 0, "ill", "well")
    >>> model = DiverseClassifier(random_state=0).fit(X, y)
    >>> np.flatnonzero(model.support_)
    array([0, 4])
    >>> model.predict(X[:2]).tolist() == y[:2].tolist()
    True
    """

    _task = Classification()

    def _encoded(self, y: NDArray[Any], weights: FloatArray | None) -> NDArray[Any]:
        self.classes_, codes = sorted_classes(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got only one class: {self.classes_.tolist()[0]!r}.")
        if 2 < len(self.classes_) == len(codes):
            raise ValueError(
                f"y must hold classes with several rows, got {len(codes)} classes of one row each: nothing to learn; "
                "use DiverseRegressor for numbers, or merge classes."
            )
        weightless = np.flatnonzero(np.bincount(codes, weights=weights) == 0)
        if len(weightless):
            raise ValueError(
                f"All rows of class {self.classes_.tolist()[weightless[0]]!r} have sample_weight 0, so nothing can be "
                "learned about it; remove those rows."
            )
        return codes

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities for new rows, averaged over sets and coefficients, shape (n, K)."""
        positive = np.stack([law.mean for law in self._laws(X)], axis=1)
        if len(self.classes_) == 2:
            return np.hstack([1 - positive, positive])
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))

    def decision_function(self, X: Any) -> FloatArray:
        """Return log-odds of the averaged probabilities: (n,) for the second class, or (n, K) for more than two."""
        scores = logit(np.clip(self.predict_proba(X), 1e-300, 1 - 1e-16))
        return np.asarray(scores[:, 1] if len(self.classes_) == 2 else scores)

    def _shaped(self, intercept: FloatArray, coef: FloatArray) -> tuple[Any, FloatArray]:
        return intercept, coef

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of new rows (n,)."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_interval(self, X: Any, level: float = 0.95) -> FloatArray:
        """Return credible intervals of the probability given the set and its coefficients.

        Shape (n, 2) for the second class of two; (n, K, 2) for more, each class against the rest.
        """
        intervals = [law.interval(level) for law in self._laws(X)]
        return intervals[0] if len(self.classes_) == 2 else np.stack(intervals, axis=1)


def sorted_classes(y: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted distinct labels (K,), and the position of each row's label among them (N,)."""
    missing = int(pd.isna(y).sum())
    if missing:
        raise ValueError(f"y must hold a label for each row, got {missing} missing ones; remove those rows.")
    kinds = sorted({type(label).__name__ for label in y.tolist()})
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError(
            f"The labels in y must be of one type, or of types that can be sorted, got {', '.join(kinds)}; convert "
            "them, for instance with y.astype(str)."
        ) from None
    check_classification_targets(y)
    return classes, np.asarray(codes, dtype=np.int64)
