"""What regressor and classifier share: from a table to a posterior over sets of columns."""

import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_random_state, validate_data

from ..candidates import Candidates, by_column, choose_candidates, group_of_columns, log_odds_of_columns
from ..design import Design
from ..dpp import SetDistribution
from ..groups import Group
from ..inference import ChainSettings, Fit, Sample, Settings, Target, fit, sample
from ..inference.local_search import NOTHING
from ..likelihoods import Grouped, SumLikelihood
from ..likelihoods.checks import sample_weights, table
from ..messages import Argument, Message, Words
from ..naming import column_labels, find_positions
from ..posterior import Posterior
from ..predictions import PredictiveMixture, average_predictions
from ..priors import bernoulli_prior, dpp_prior
from ..selection import Selection, Training
from ..similarity import SimilarityWarning
from ..threads import one_blas_thread
from ..types import FloatArray, IntArray
from .parameters import check_parameters
from .progress import ProgressLine
from .side_information import RANK, similarity_features
from .sizes import largest_size, number_to_select, prior_size

FIRST_SIZE = 10.0  # expected size of the prior before it is learned


class EmptySelectionWarning(UserWarning):
    """The best set has no features.

    >>> issubclass(EmptySelectionWarning, UserWarning)
    True
    """


class DiverseSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of DiverseRegressor and DiverseClassifier, where the parameters are documented."""

    def __init__(
        self,
        *,
        similarity: Any = "columns",
        prior: str = "dpp",
        posterior: str = "dpp",
        expected_size: float | None = None,
        n_features_to_select: float | None = None,
        fixed_size: bool = False,
        average: bool = True,
        slab_precision: float | str = "auto",
        always_include: Any = None,
        groups: Any = None,
        prior_log_odds: Any = None,
        screen: int | None = None,
        solver: str = "chain",
        n_starts: int = 4,
        max_iter: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.similarity = similarity
        self.prior = prior
        self.posterior = posterior
        self.expected_size = expected_size
        self.n_features_to_select = n_features_to_select
        self.fixed_size = fixed_size
        self.average = average
        self.slab_precision = slab_precision
        self.always_include = always_include
        self.groups = groups
        self.prior_log_odds = prior_log_odds
        self.screen = screen
        self.solver = solver
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- the two differ in these -----------------------------------------------------------------------------

    def _encoded(self, y: NDArray[Any], weights: FloatArray | None) -> NDArray[Any]:
        """The outcome as `_parts` wants it."""
        raise NotImplementedError

    def _parts(self, data: Training) -> list[Any]:
        """Likelihoods over the candidate columns that share the set."""
        raise NotImplementedError

    def _screened(self, X: Any, y: NDArray[Any], n: int, weights: FloatArray | None) -> IntArray:
        """The n columns most related to y."""
        raise NotImplementedError

    # --- fit ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the posterior over sets of columns.

        Parameters
        ----------
        X : (N, M) numbers: array, data frame or scipy.sparse table; no need to scale, constant columns are left out
        y : (N,) numbers for the regressor, labels for the classifier
        sample_weight : (N,) frequencies: a row of weight 2 counts as two such rows, one of weight 0 not at all

        Returns
        -------
        self
        """
        found = self.search(X, y, sample_weight)
        return self.publish(replace(found, chosen=self._choose(found)))

    def search(self, X: Any, y: Any, sample_weight: Any = None) -> Selection:
        """The posterior alone: what `fit` finds before a set is chosen, which may take as long."""
        check_parameters(self)
        self._forget()
        X, y = validate_data(
            self, X, y, accept_sparse="csc", dtype=[np.float64, np.float32], order="C", ensure_min_samples=2
        )
        X = table(X)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        y = self._encoded(y, weights)
        candidates = self._choose_candidates(X, y, weights)
        chosen, covariates = candidates.of(X)
        training = Training(chosen, covariates, y, weights)
        return self.selection(candidates, training, self._run(self._target(candidates, training)))

    def _run(self, target: Target) -> Sample | Fit:
        rng, settings = _generator(self.random_state), self._settings()
        most = settings.max_laps if isinstance(settings, ChainSettings) else settings.iterations
        with ExitStack() as stack:
            callback = stack.enter_context(ProgressLine(most=most)) if self.verbose else None
            if isinstance(settings, ChainSettings):
                return sample(target, rng, settings, callback=callback)
            return fit(target, rng, settings, callback=callback)

    def selection(
        self, candidates: Candidates, training: Training, found: Sample | Fit, chosen: IntArray = NOTHING
    ) -> Selection:
        """What was found, as a value, with the names, classes and choices of this estimator."""
        names = candidates.unit_names(column_labels(self._names, candidates.n_columns))
        return Selection(
            candidates=candidates,
            training=training,
            posterior=Posterior(found, names),
            chosen=chosen,
            names=self._names,
            classes=getattr(self, "classes_", None),
            size=number_to_select(self.n_features_to_select, candidates.n_units),
            average=self.average,
        )

    def _forget(self) -> None:
        """A fit that fails, or is stopped, must not leave parts of an earlier one beside its own."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_coef_")  # what is published last

    @property
    def _names(self) -> NDArray[Any] | None:
        """Names of the columns, if they have any."""
        return getattr(self, "feature_names_in_", None)

    def _choose_candidates(self, X: Any, y: NDArray[Any], weights: FloatArray | None) -> Candidates:
        M = X.shape[1]
        given = () if self.always_include is None else self.always_include
        always = find_positions(given, self._names, M, "always_include")
        groups = group_of_columns(by_column(self.groups, self._names, M, "groups"))
        varying = Design.of(X, sample_weights(weights, X.shape[0])).varying
        open_ = varying.copy()
        open_[always] = False
        kept, columns = open_.copy(), np.flatnonzero(open_)
        if self.screen is not None and self.screen < len(columns):
            strongest = self._screened(X if open_.all() else X[:, columns], y, int(self.screen), weights)
            kept[:] = False
            kept[columns[strongest]] = True
        found = choose_candidates(M, always, groups, kept, varying)
        self._warn_of_constants(np.setdiff1d(np.flatnonzero(~varying), always))
        return found

    def _warn_of_constants(self, columns: IntArray) -> None:
        if len(columns):
            example = f"number {columns[0]}" if self._names is None else repr(self._names[columns[0]])
            warnings.warn(
                f"{len(columns)} of {self.n_features_in_} columns are constant (e.g. {example}): they say nothing "
                "about the outcome and are never selected.",
                SimilarityWarning,
                stacklevel=4,
            )

    def likelihood(self, candidates: Candidates, training: Training) -> Any:
        """The likelihood of these rows over the features to choose from."""
        parts = self._parts(training)
        if candidates.is_grouped:
            parts = [Grouped(part, candidates.unit) for part in parts]
        return parts[0] if len(parts) == 1 else SumLikelihood(parts, n_jobs=self.n_jobs)

    def _slab_precision(self, default: float) -> float:
        return default if self.slab_precision == "auto" else float(self.slab_precision)

    def _target(self, candidates: Candidates, training: Training) -> Target:
        U = candidates.n_units
        size = number_to_select(self.n_features_to_select, U)
        phi = self._phi(candidates, training, size) if "dpp" in (self.prior, self.posterior) else None
        most = largest_size(phi, U)
        if most == 0:
            raise ValueError("All rows of similarity are zero, so no feature can be in a set: give others.")
        size = number_to_select(self.n_features_to_select, U, most)
        return Target(
            self.likelihood(candidates, training),
            self._prior(candidates, phi, most if self.prior == "dpp" else U),
            family=self.posterior,  # type: ignore[arg-type]
            phi=phi,
            size=size if self.fixed_size else None,
        )

    def _phi(self, candidates: Candidates, training: Training, size: int | None) -> NDArray[Any]:
        rank = max(RANK, 2 * (size or 0), int(2 * (self.expected_size or 0)))
        return similarity_features(self.similarity, training.X, candidates, self._names, training.weights, rank)

    def _prior(self, candidates: Candidates, phi: NDArray[Any] | None, most: int) -> SetDistribution:
        given = by_column(self.prior_log_odds, self._names, candidates.n_columns, "prior_log_odds")
        log_odds = log_odds_of_columns(given)
        tilt = None if log_odds is None else candidates.gather(log_odds)
        size = prior_size(self.expected_size, most, FIRST_SIZE)
        if phi is not None and self.prior == "dpp":
            return dpp_prior(phi, expected_size=size, log_odds=tilt)
        return bernoulli_prior(candidates.n_units, expected_size=size, log_odds=tilt)

    def _settings(self) -> ChainSettings | Settings:
        average_size, average_slab = self.expected_size is None, self.slab_precision == "auto"
        if self.solver == "chain":
            defaults = ChainSettings(average_size=average_size, average_slab=average_slab)
            tol = defaults.tol if self.tol is None else self.tol
            return replace(defaults, tol=tol, max_laps=defaults.max_laps if self.max_iter is None else self.max_iter)
        return Settings(
            solver=self.solver,  # type: ignore[arg-type]
            n_starts=self.n_starts,
            max_iter=self.max_iter,
            learn_size=average_size,
            learn_slab=average_slab,
            tol=Settings.tol if self.tol is None else self.tol,
        )

    def _choose(self, found: Selection) -> IntArray:
        """The best set, of the size that was asked for."""
        S = found.posterior.map(found.size)
        if not len(S):
            beside = (" beside those in ", Argument("always_include")) if len(found.candidates.always) else ()
            warnings.warn(
                Message(
                    "The best set is empty",
                    *beside,
                    ": no feature is supported well enough on its own, though "
                    f"{found.posterior.inclusion_prob().sum():.1f} are expected in a set. ",
                    Words("predict()", "`variegate predict`"),
                    " averages over sets and works; for a selection give ",
                    Argument("n_features_to_select"),
                    ", or look at ",
                    Words("inclusion_probabilities_", "the probabilities in selection.csv"),
                    ".",
                ),
                EmptySelectionWarning,
                stacklevel=3,
            )
        return S

    @one_blas_thread
    def publish(self, found: Selection) -> Self:
        """Show a selection as what this estimator has fitted."""
        fitted = found.posterior.fit
        self.selection_, self.posterior_, self.support_ = found, found.posterior, found.support
        self.inclusion_probabilities_, self.inclusion_errors_ = found.inclusion_probabilities, found.inclusion_errors
        if isinstance(fitted, Fit):
            self.elbo_, self.elbo_trace_ = fitted.elbo, fitted.elbo_trace
        self.converged_, self.n_iter_ = fitted.converged, fitted.n_iter
        self.intercept_, self.coef_ = self._shaped(*found.coefficients(averaged=True))
        self.map_intercept_, self.map_coef_ = self._shaped(*found.coefficients(averaged=False))
        return self

    def _shaped(self, intercept: FloatArray, coef: FloatArray) -> tuple[Any, FloatArray]:
        """Intercepts (K,) and coefficients (K, M) as they are published."""
        return intercept, coef

    # --- results -------------------------------------------------------------------------------------------

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    @property
    def groups_(self) -> list[Group]:
        """Groups of features that stand in for each other, the most probable first; see `Posterior.groups`."""
        check_is_fitted(self)
        return self.selection_.groups

    @one_blas_thread
    def path(self, sizes: Iterable[float]) -> dict[int, NDArray[np.bool_]]:
        """The best set of each size, all from this fit: {size: mask (M,)}; sizes as in n_features_to_select.

        >>> from variegate import DiverseRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 4))
        >>> model = DiverseRegressor(random_state=0).fit(X, X[:, 0] + 2 * X[:, 2])
        >>> {size: np.flatnonzero(mask).tolist() for size, mask in model.path([1, 2]).items()}
        {1: [2], 2: [0, 2]}
        """
        check_is_fitted(self)
        if not isinstance(sizes, Iterable):
            raise ValueError(f"path takes several sizes, for instance path([2, 5, 10]); got {sizes!r}.")
        U = self.selection_.candidates.n_units
        most = largest_size(self.posterior_.target.phi, U)
        numbers = [number_to_select(k, U, most) for k in sizes]
        return {k: self.as_support(self.posterior_.map(k)) for k in numbers if k is not None}

    def as_support(self, features: Any) -> NDArray[np.bool_]:
        """The columns (M,) of a set of features of `posterior_`, given by position there or by name.

        With always_include, groups, screening or constant columns, features of the posterior are not columns of X.
        """
        check_is_fitted(self)
        return self.selection_.candidates.mask(self.posterior_.positions(features))

    @one_blas_thread
    def _laws(self, X: Any) -> list[PredictiveMixture]:
        """Predictive laws of new rows, averaged over sets, one for each part."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse=("csc", "csr"), dtype=[np.float64, np.float32])
        chosen, covariates = self.selection_.candidates.of(X)
        return [average_predictions(o.components, chosen, covariates) for o in self.selection_.outcomes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**32, dtype=np.uint32))
