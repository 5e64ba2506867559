"""The paper's methods behind the scikit-learn interface."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, check_random_state

from ..estimators import DiverseClassifier, DiverseRegressor, DiverseSelector
from ..inference import Target
from ..predictions import Component, PredictiveMixture, average_predictions
from ..types import FloatArray
from .algorithm_1 import algorithm_1
from .empirical_bayes import empirical_bayes
from .fit import Fit
from .natural_gradient import natural_gradient

PAIR = ("dpp", "bernoulli")


class Variational(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the paper's methods, documented in `VariationalRegressor`."""

    _engine: type[DiverseSelector]

    def __init__(
        self,
        *,
        prior: str = "dpp",
        posterior: str = "dpp",
        similarity: Any = "columns",
        expected_size: float | None = None,
        slab_precision: float | str = "auto",
        n_features_to_select: float | None = None,
        algorithm: str = "natural_gradient",
        n_starts: int = 4,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.posterior = posterior
        self.similarity = similarity
        self.expected_size = expected_size
        self.slab_precision = slab_precision
        self.n_features_to_select = n_features_to_select
        self.algorithm = algorithm
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit q to the posterior over sets of columns."""
        for name, given, known in (
            ("prior", self.prior, PAIR),
            ("posterior", self.posterior, PAIR),
            ("algorithm", self.algorithm, ("natural_gradient", "algorithm_1")),
        ):
            if given not in known:
                raise ValueError(f'{name} must be "{known[0]}" or "{known[1]}", got {given!r}.')
        self._posed_by = self._engine(
            similarity=self.similarity,
            diversity=float(self.prior == "dpp"),
            expected_size=self.expected_size,
            slab_precision=self.slab_precision,
            n_features_to_select=self.n_features_to_select,
        )
        self._candidates, target, size = self._posed_by.posed(X, y)
        if self.posterior == "bernoulli":
            target = replace(target, family="bernoulli", phi=None, _volume=None)
        self.n_features_in_ = self._candidates.n_columns
        self.fit_ = self._fitted(target)
        self.support_ = self._candidates.mask(self.fit_.q.map(size))
        self.inclusion_probabilities_ = self._candidates.spread(self.fit_.inclusion)
        return self

    def _fitted(self, target: Target) -> Fit:
        rng = self.random_state
        if not isinstance(rng, np.random.Generator):
            rng = np.random.default_rng(check_random_state(rng).randint(2**32, dtype=np.uint32))
        target = empirical_bayes(target, rng, size=self.expected_size is None, slab=self.slab_precision == "auto")
        if self.algorithm == "algorithm_1":
            return algorithm_1(target, rng, n_iter=self.max_iter or 4000)
        return natural_gradient(target, rng, n_starts=self.n_starts, max_iter=self.max_iter or 200)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def predictive(self, X: Any) -> list[PredictiveMixture]:
        """Return the predictive law of new rows, averaged over sets drawn from q; one for each class of several."""
        check_is_fitted(self)
        sets, target = self.fit_.sets, self.fit_.target
        rows = self._posed_by.rows_of(X, self._candidates)
        return [
            average_predictions([Component(target.columns(S), 1 / len(sets), outcome) for S in sets], rows)
            for outcome in target.outcomes
        ]


class VariationalRegressor(RegressorMixin, Variational):  # type: ignore[misc]
    """Regression by the paper's methods: the best q by the ELBO, and its most probable set.

    Parameters
    ----------
    prior, posterior : "dpp" or "bernoulli"
        Whether the prior, and the family of q, use similarity.
    similarity : as for `DiverseRegressor`
    expected_size, slab_precision : float, optional
        None and "auto": learned by empirical Bayes.
    n_features_to_select : int or float, optional
        Size of the selected set; None: that of the most probable set of q.
    algorithm : "natural_gradient" or "algorithm_1"
        The second is the paper's, as printed.
    n_starts : int
        Starts of the natural gradient.
    max_iter : int, optional
        None: 200 for the natural gradient, 4,000 for Algorithm 1.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    fit_ : Fit
        q with its ELBO, over the columns that vary.
    support_, inclusion_probabilities_ : (M,)
        The most probable set under q, and P(column in set) under q.

    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = VariationalRegressor(random_state=0).fit(X, X[:, 0] + 2 * X[:, 2])
    >>> model.support_.tolist(), model.predict(X[:1]).shape
    ([True, False, True, False], (1,))
    """

    _engine = DiverseRegressor

    def predict(self, X: Any) -> FloatArray:
        """Return the mean of y for new rows (n,)."""
        return self.predictive(X)[0].mean


class VariationalClassifier(ClassifierMixin, Variational):  # type: ignore[misc]
    """Classification by the paper's methods; parameters and attributes as for `VariationalRegressor`.

    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> model = VariationalClassifier(random_state=0).fit(X, X[:, 0] + 2 * X[:, 2] > 0)
    >>> model.support_.tolist(), model.predict(X[:1]).shape
    ([True, False, True, False], (1,))
    """

    _engine = DiverseClassifier

    def fit(self, X: Any, y: Any) -> Self:
        """Fit q to the posterior over sets of columns."""
        super().fit(X, y)
        self.classes_ = self._posed_by.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities of new rows (n, K)."""
        p = np.stack([law.mean for law in self.predictive(X)], axis=1)
        return np.hstack([1 - p, p]) if len(self.classes_) == 2 else np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of new rows (n,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
