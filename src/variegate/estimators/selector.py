"""The base of the estimators: a posterior over sets of columns behind the scikit-learn interface."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..candidates import Candidates, reference_columns
from ..checks import check_labels, is_number
from ..groups import Group, numbered
from ..inference import Certificate, Sample, Target
from ..large import LargeTable, as_large_table, is_out_of_core
from ..likelihoods import end_of_fit, new_rows, table, unsettled_of
from ..panels import Panel
from ..predictions import PredictiveMixture, average_predictions
from ..selection import Selection, Training
from ..tasks import Task
from ..threads import one_blas_thread
from ..types import FloatArray, IntArray
from .certified import certified
from .parameters import Parameters
from .screened import Screen, filled, is_large
from .search import Search
from .sizes import check_size, number_to_select

# how scikit-learn reads a table; `table` and `new_rows` check that it is finite
READ: dict[str, Any] = {"accept_sparse": ("csc", "csr"), "dtype": [np.float64, np.float32], "ensure_all_finite": False}


class EmptySelectionWarning(UserWarning):
    """The chosen set has no features.

    >>> issubclass(EmptySelectionWarning, UserWarning)
    True
    """


class DiverseSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators, which document the parameters."""

    def __init__(
        self,
        *,
        similarity: Any = "columns",
        diversity: float = 1.0,
        expected_size: float | None = None,
        n_features_to_select: float | None = None,
        choose: str = "prediction",
        fixed_size: bool = False,
        average: bool = True,
        slab_precision: float | str = "auto",
        always_include: Any = None,
        groups: Any = None,
        prior_log_odds: Any = None,
        screen: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.similarity = similarity
        self.diversity = diversity
        self.expected_size = expected_size
        self.n_features_to_select = n_features_to_select
        self.choose = choose
        self.fixed_size = fixed_size
        self.average = average
        self.slab_precision = slab_precision
        self.always_include = always_include
        self.groups = groups
        self.prior_log_odds = prior_log_odds
        self.screen = screen
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    # --- estimators differ in these ----------------------------------------------------------------------------

    _task: Task
    _as_outcome: Callable[[Any], NDArray[Any]] | None = None  # if it has several fields

    def _encoded(self, y: NDArray[Any], weights: FloatArray | None) -> NDArray[Any]:
        """Return the outcome as the task needs it."""
        return y

    # --- fit ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the posterior over sets of columns.

        Parameters
        ----------
        X : (N, M) numbers: array, data frame or scipy.sparse table; need not be scaled, constant columns are left out
        y : (N,) numbers, labels, counts, or times and events (see the class)
        sample_weight : (N,) frequencies: a row of weight 2 counts as two such rows, one of weight 0 not at all

        Returns
        -------
        self
        """
        found = self.search(X, y, sample_weight)
        return self.publish(replace(found, chosen=self._choose(found)))

    def search(self, X: Any, y: Any, sample_weight: Any = None) -> Selection:
        """Find the posterior alone, as `fit` does before choosing a set, which may take as long."""
        search, X, y, weights = self._opened(X, y, sample_weight)
        asked, large = search.asked, isinstance(X, LargeTable)
        references = reference_columns(X, None if large else search.groups, weights)
        screened = asked.screen is not None and asked.screen < X.shape[1]
        if large or screened or (asked.screen is None and is_large(X)):
            found = certified(search, Screen.of(as_large_table(X), self._task, y, weights), references)
        else:
            found = search.in_memory(X, y, weights, references)
        return replace(found, classes=getattr(self, "classes_", None))

    def posed(self, X: Any, y: Any) -> tuple[Candidates, Target, int | None]:
        """Return the features of a table in memory, the posterior over their sets before sampling, and the size."""
        search, X, y, weights = self._opened(X, y, None)
        candidates, training = search.columns(X, y, weights, reference_columns(X, search.groups, weights))
        return candidates, search.target(candidates, training), search.size(candidates)

    def _opened(self, X: Any, y: Any, sample_weight: Any) -> tuple[Search, Any, NDArray[Any], FloatArray | None]:
        """Check parameters and data; return what is asked, the table, the encoded outcome and the weights."""
        asked = Parameters.of(self)
        self._forget()
        large = is_out_of_core(X)
        X, y = self._open(X, y) if large else self._read(X, y)
        N = X.shape[0]
        if len(y) != N:
            raise ValueError(f"y must have an entry for each of the {N} rows of X, got {len(y)}.")
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, np.empty((N, 1)), ensure_non_negative=True)
        y, search = self._encoded(y, weights), self._search(asked)
        search.check_names()  # before the work
        return search, X if large else table(X), y, weights

    def _search(self, asked: Parameters) -> Search:
        """Combine the parameters with the columns seen."""
        return Search(asked, self._task, getattr(self, "feature_names_in_", None), self.n_features_in_)

    def _read(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return table and outcome as arrays."""
        check_labels(X)
        how = {"order": "C", "ensure_min_samples": 2, **READ}
        if self._as_outcome is None:
            return validate_data(self, X, y, **how)  # type: ignore[no-any-return]
        return validate_data(self, X, **how), self._as_outcome(y)

    def _open(self, X: Any, y: Any) -> tuple[LargeTable, NDArray[Any]]:
        """Open a table that is not in memory, and set the attributes that scikit-learn sets; return it with y."""
        check_labels(X)
        large = as_large_table(X)
        self.n_features_in_ = large.shape[1]
        if large.names is not None:
            self.feature_names_in_ = np.asarray(large.names, dtype=object)
        return large, np.asarray(column_or_1d(y) if self._as_outcome is None else self._as_outcome(y))

    def outcomes(self, training: Training) -> list[Any]:
        """Return the likelihoods of these rows over the columns to choose from."""
        return self._search(Parameters.of(self)).outcomes(training)

    def selection(
        self,
        candidates: Candidates,
        training: Training,
        found: Sample,
        chosen: IntArray,
        certificate: Certificate | None = None,
    ) -> Selection:
        """Return the result as a value, with the names, classes and choices of this estimator."""
        selection = self._search(Parameters.of(self)).selection(candidates, training, found)
        classes = getattr(self, "classes_", None)
        return replace(selection, chosen=chosen, classes=classes, certificate=certificate)

    def _forget(self) -> None:
        """Delete the results of an earlier fit, so that a failed one does not mix with them."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_coef_")  # set last

    @one_blas_thread
    def _choose(self, found: Selection) -> IntArray:
        """Return the panel, or the most probable set, of the requested size if there is one."""
        by_prediction = self.choose == "prediction"
        S = found.panel(found.size).features if by_prediction else found.posterior.map(found.size)
        if not len(S):
            beside = " beside those in always_include" if len(found.candidates.always) else ""
            what = f"No features are worth measuring{beside}: the model predicts next to nothing from them"
            warnings.warn(
                f"{what if by_prediction else f'The most probable set is empty{beside}'}, though "
                f"{found.posterior.inclusion_prob().sum():.1f} features are expected in a set. Predictions average "
                "over sets and work; for a selection give a size (n_features_to_select), or look at the inclusion "
                "probabilities.",
                EmptySelectionWarning,
                stacklevel=4,
            )
        return S

    @one_blas_thread
    def publish(self, found: Selection) -> Self:
        """Set the fitted attributes from a selection."""
        end_of_fit(unsettled_of(found.posterior.target.outcomes), stacklevel=5)
        fitted = found.posterior.fit
        self.selection_, self.support_ = found, found.support
        self.posterior_ = found.posterior.of_columns(found.candidates, found.column_names)
        self.inclusion_probabilities_, self.inclusion_errors_ = found.inclusion_probabilities, found.inclusion_errors
        self.converged_, self.n_iter_ = fitted.converged, fitted.n_iter
        self.intercept_, self.coef_ = self._shaped(*found.coefficients(averaged=True))
        self.map_intercept_, self.map_coef_ = self._shaped(*found.coefficients(averaged=False))
        return self

    def _shaped(self, intercept: FloatArray, coef: FloatArray) -> tuple[Any, FloatArray]:
        """Return intercepts (K,) and coefficients (K, M) in their public shape: for one outcome, a number and (M,)."""
        return float(intercept[0]), coef[0]

    # --- results -------------------------------------------------------------------------------------------

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    @property
    def groups_(self) -> list[Group]:
        """Groups of features that can replace each other, most probable first; see `Posterior.groups`."""
        check_is_fitted(self)
        return numbered(self.selection_.groups, self.selection_.candidates.first_columns)

    @property
    def panel_(self) -> Panel:
        """What to measure: the chosen features, with a rule on them alone that repeats the predictions of the fit.

        Its `predict` needs only the columns of the panel. The features are those of `support_`.

        >>> from variegate import DiverseRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 4))
        >>> panel = DiverseRegressor(random_state=0).fit(X, X[:, 0] + 2 * X[:, 2]).panel_
        >>> panel.members, panel.predict([[1.0, 1.0]]).round(1)
        (['x0', 'x2'], array([3.]))
        """
        check_is_fitted(self)
        return self.selection_.chosen_panel

    @one_blas_thread
    def panel(
        self,
        size: float | None = None,
        *,
        include: Any = (),
        exclude: Any = (),
        costs: Any = None,
        budget: float | None = None,
        diversity: float | None = None,
    ) -> Panel:
        """Choose another panel from this fit, in well under a second.

        Parameters
        ----------
        size : as n_features_to_select; None: the smallest that is enough, or what the budget allows
        include, exclude : features that are measured already, and that cannot be measured
        costs, budget : a price for each column, (M,) or {column: price}, of which a feature has the highest; and what
            all features together may cost, beside those included, which cost nothing more
        diversity : as in the constructor; None: the same

        >>> from variegate import DiverseRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 4))
        >>> model = DiverseRegressor(random_state=0).fit(X, X[:, 0] + 2 * X[:, 2])
        >>> model.panel(1).members, model.panel(1, exclude=[2]).members
        (['x2'], ['x0'])
        """
        check_is_fitted(self)
        found = self.selection_.panels(include, exclude, diversity)
        U = self.selection_.candidates.n_units
        k = number_to_select(size, U, "size")
        check_size(k, size, U, U if found.search.volume is None else found.search.volume.rows.rank(), "size")
        if (costs is None) != (budget is None):
            raise ValueError("costs and budget must be given together, got only one of them.")
        if costs is None or budget is None:
            return found.choose(k)
        if k is not None:
            raise ValueError(f"size must be None if a budget is given, got {size!r}: the budget decides the size.")
        if not (is_number(budget) and budget >= 0):
            raise ValueError(f"budget must be a number from 0, got {budget!r}.")
        return found.affordable(self.selection_.costs(costs), float(budget))

    @one_blas_thread
    def path(self, sizes: Iterable[float]) -> dict[int, NDArray[np.bool_]]:
        """Return the chosen set of each size from this fit, {size: mask (M,)}; sizes as in n_features_to_select.

        >>> from variegate import DiverseRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 4))
        >>> model = DiverseRegressor(random_state=0).fit(X, X[:, 0] + 2 * X[:, 2])
        >>> {size: np.flatnonzero(mask).tolist() for size, mask in model.path([1, 2]).items()}
        {1: [2], 2: [0, 2]}
        """
        check_is_fitted(self)
        if not isinstance(sizes, Iterable):
            raise ValueError(f"sizes must be a list, such as [2, 5, 10], got {sizes!r}.")
        U, target = self.selection_.candidates.n_units, self.posterior_.target
        most = target.volume.rows.rank() if target.diversity or target.size else U
        asked = list(sizes)
        numbers = [number_to_select(k, U, "sizes") for k in asked]
        for size, k in zip(numbers, asked, strict=True):
            check_size(size, k, U, most, "sizes")
        found = self.selection_
        panels = found.panels()
        by_prediction = self.choose == "prediction"
        chosen = {k: panels.choose(k).features if by_prediction else found.posterior.map(k) for k in numbers if k}
        return {k: found.candidates.mask(S) for k, S in chosen.items()}

    def as_support(self, features: Any) -> NDArray[np.bool_]:
        """Return the columns (M,) of a set of features, given by name or column, as a mask like `support_`.

        A column stands for its block; columns that are always included are added.
        """
        check_is_fitted(self)
        found = np.zeros(self.n_features_in_, dtype=bool)
        found[self.posterior_.positions(features)] = found[self.selection_.candidates.always] = True
        return found

    @one_blas_thread
    def _laws(self, X: Any) -> list[PredictiveMixture]:
        """Return the predictive distributions of new rows, averaged over sets, one for each part of the outcome."""
        check_is_fitted(self)
        rows = self.rows_of(X, self.selection_.candidates)
        return [average_predictions(o.components, rows) for o in self.selection_.outcomes]

    def rows_of(self, X: Any, candidates: Candidates) -> Any:
        """Return new rows as the likelihoods read them."""
        check_labels(X)
        chosen, covariates = (
            self._of_large(X) if is_out_of_core(X) else candidates.of(validate_data(self, X, reset=False, **READ))
        )
        return new_rows(chosen, covariates, len(candidates.columns), len(candidates.always))

    def _of_large(self, X: Any) -> tuple[Any, Any]:
        """Load the candidate and always included columns of a large table, with missing entries at the mean."""
        large, found = as_large_table(X), self.selection_
        if large.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} columns, as when fitted, got {large.shape[1]}.")
        if large.names is not None and self.selection_.names is not None:
            other = np.flatnonzero(large.names.astype(str) != self.selection_.names.astype(str))
            if len(other):
                raise ValueError(
                    f"X must have the columns of the fit, in their order; column {other[0]} is "
                    f"{str(large.names[other[0]])!r}, but was {str(self.selection_.names[other[0]])!r}."
                )
        chosen = filled(large.columns(found.candidates.columns), found.training.design.centre)
        always = found.candidates.always
        if not len(always):
            return chosen, None
        centre = np.average(np.asarray(found.training.covariates), axis=0, weights=found.training.row_weights)
        return chosen, filled(large.columns(always), centre)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
