"""Regression with a diverse set of features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from ..tasks import Regression
from ..types import FloatArray
from .documented import documented
from .selector import DiverseSelector


@documented
class DiverseRegressor(RegressorMixin, DiverseSelector):  # type: ignore[misc]
    """Linear regression on a diverse set of features, with uncertainty over the set.

    Sets of columns are drawn from their posterior, under a determinantal point process as prior: features that predict
    y and are unlike each other. Predictions are averaged over sets. For what is chosen see `support_` and `transform`;
    for the uncertainty `inclusion_probabilities_` and `posterior_`.

    {parameters}

    {attributes}
    coef_, intercept_ : (M,), float
        Posterior means in the units of X, averaged over sets: predict(X) = X @ coef_ + intercept_.
    map_coef_, map_intercept_ : (M,), float
        The same given the chosen set.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(size=(100, 2))
    >>> X = np.hstack([signal, signal[:, :1] + 0.1 * rng.normal(size=(100, 8))])  # eight near-copies of column 0
    >>> y = 2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=100)
    >>> model = DiverseRegressor(n_features_to_select=2, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.support_)
    array([0, 1])
    """

    _task = Regression()

    def _encoded(self, y: NDArray[Any], weights: FloatArray | None) -> NDArray[Any]:
        try:
            return np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            example = np.ravel(y).tolist()[0]
            raise ValueError(
                f"y must hold numbers, got {example!r} among others; for classes use DiverseClassifier."
            ) from None

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of y for new rows (n, M), averaged over sets; with `return_std` also its standard deviation (n,)."""
        (law,) = self._laws(X)
        return (law.mean, law.std) if return_std else law.mean

    def predict_interval(self, X: Any, level: float = 0.95) -> FloatArray:
        """Central credible interval of y for new rows, shape (n, 2)."""
        (law,) = self._laws(X)
        return law.interval(level)
