"""Any scikit-learn selector or sparse model as a method."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..types import FloatArray, IntArray
from .problem import Problem

SIZES = ("n_features_to_select", "n_nonzero_coefs", "support_size", "k")  # what libraries call the size


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A fitted clone's `get_support()`, its mask `support_`, or the columns with a coefficient in `coef_`.

    The size is passed as the estimator's own parameter if it has one with a common name (n_features_to_select,
    n_nonzero_coefs, support_size, k). If more columns than that have coefficients, the largest are kept, in units of
    the columns' standard deviations. `random_state` is set if it is None.
    """

    estimator: Any
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        model = self._prepared(size, rng).fit(problem.X, problem.y)
        weight = self._weights(model, problem)
        chosen = np.flatnonzero(weight)
        if size is None or len(chosen) == size:
            return chosen
        if len(chosen) < size or not hasattr(model, "coef_"):
            raise ValueError(
                f"{type(model).__name__} chose {len(chosen)} features where {size} were asked for; change its "
                "parameters, or set the size to None."
            )
        return np.sort(np.argsort(-weight, kind="stable")[:size])

    def _prepared(self, size: int | None, rng: np.random.Generator) -> Any:
        model = clone(self.estimator)
        known = model.get_params(deep=False)
        if size is not None:
            model.set_params(**{name: size for name in SIZES if name in known})
        if "random_state" in known and known["random_state"] is None:
            model.set_params(random_state=int(rng.integers(2**31)))
        return model

    def _weights(self, model: BaseEstimator, problem: Problem) -> FloatArray:
        """How much each column matters (M,), 0 for those that were not chosen."""
        if hasattr(model, "coef_"):
            coef = np.abs(np.asarray(model.coef_, dtype=np.float64)).reshape(-1, problem.n_features)
            return np.asarray(coef.max(axis=0) * np.std(problem.X, axis=0))
        if hasattr(model, "get_support"):
            return np.asarray(model.get_support(), dtype=np.float64)
        mask = np.asarray(getattr(model, "support_", ()))
        if mask.dtype != bool or mask.shape != (problem.n_features,):
            raise ValueError(
                f"{type(model).__name__} must have get_support(), a mask support_ or coef_ after its fit, got none of "
                "them: it does not say which features it chose."
            )
        return mask.astype(np.float64)
