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
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_random_state, validate_data

from ..candidates import (
    Candidates,
    by_column,
    choose_candidates,
    group_of_columns,
    log_odds_of_columns,
    reference_columns,
)
from ..checks import is_number
from ..design import Design
from ..groups import Group
from ..inference import ChainSettings, ConvergenceWarning, Fit, Sample, Settings, Target, fit, sample
from ..inference.certificate import JOINS, Certificate
from ..inference.chain.grid import PriorSizes
from ..inference.chain.sample import CHAINS
from ..inference.local_search import NOTHING
from ..inference.target import OthersRatio
from ..large import LargeTable, as_large_table, is_out_of_core
from ..likelihoods import Grouped, SumLikelihood
from ..likelihoods.checks import new_rows, sample_weights, table
from ..messages import Argument, Message, Words
from ..naming import column_labels, find_positions
from ..posterior import Posterior
from ..predictions import PredictiveMixture, average_predictions
from ..priors import Prior, bernoulli_prior, dpp_prior
from ..selection import Selection, Training
from ..similarity import SimilarityWarning
from ..tasks import Task
from ..threads import one_blas_thread
from ..types import FloatArray, IntArray
from .parameters import check_parameters
from .progress import ProgressLine
from .screened import QUICK, ROOM, ROUNDS, Screen, filled, in_new_places, is_large, joining, start
from .side_information import RANK, log_norms, similarity_features
from .sizes import largest_size, number_to_select, prior_size

# how scikit-learn reads a table; that all is finite is checked with the rest, by `table` and `new_rows`
READ: dict[str, Any] = {"accept_sparse": ("csc", "csr"), "dtype": [np.float64, np.float32], "ensure_all_finite": False}
LOW_RANK = 15  # of a similarity, below which it decides the size of sets
FIRST_SIZE = 10.0  # expected size of the prior before it is learned


class EmptySelectionWarning(UserWarning):
    """The best set has no features.

    >>> issubclass(EmptySelectionWarning, UserWarning)
    True
    """


class DiverseSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators, where the parameters are documented."""

    def __init__(
        self,
        *,
        similarity: Any = "columns",
        prior: str = "dpp",
        diversity: float = 1.0,
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
        self.diversity = diversity
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

    _task: Task

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Table and outcome as arrays of the same length."""
        return validate_data(self, X, y, order="C", ensure_min_samples=2, **READ)  # type: ignore[no-any-return]

    def _encoded(self, y: NDArray[Any], weights: FloatArray | None) -> NDArray[Any]:
        """The outcome as the task wants it."""
        raise NotImplementedError

    # --- fit ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the posterior over sets of columns.

        Parameters
        ----------
        X : (N, M) numbers: array, data frame or scipy.sparse table; no need to scale, constant columns are left out
        y : (N,) numbers, labels, counts, or times and events (see the class)
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
        large = is_out_of_core(X)
        X, y = (self._open(X), self._outcome(y)) if large else self._read(X, y)
        N = X.shape[0]
        if len(y) != N:
            raise ValueError(f"y must have an entry for each of the {N} rows of X, got {len(y)}.")
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, np.empty((N, 1)), ensure_non_negative=True)
        y = self._encoded(y, weights)
        self._always(X.shape[1])  # names that do not exist are told before the work
        X = X if large else table(X)
        references = reference_columns(X, None if large else self._groups(X.shape[1]), weights)
        screened = self.screen is not None and self.screen < X.shape[1]
        if large or screened or (self.screen is None and is_large(X)):
            return self._certified(Screen.of(as_large_table(X), self._task, y, weights), references)
        design = Design.of(X, sample_weights(weights, N))
        candidates = self._candidates(design.varying, design.varying, references)
        covariates = X[:, candidates.always] if len(candidates.always) else None
        training = Training(design.take(candidates.columns), covariates, y, weights)
        found = self._run(self._target(candidates, training), _generator(self.random_state))
        return self.selection(candidates, training, found)

    def _open(self, X: Any) -> LargeTable:
        """A table that is not in memory; what scikit-learn notes of a table is noted."""
        large = as_large_table(X)
        self.n_features_in_ = large.shape[1]
        if large.names is not None:
            self.feature_names_in_ = np.asarray(large.names, dtype=object)
        return large

    def _outcome(self, y: Any) -> NDArray[Any]:
        """The outcome of a table that is not in memory, as an array."""
        return np.asarray(column_or_1d(y))

    @one_blas_thread
    def _certified(self, screen: Screen, references: IntArray) -> Selection:
        """The posterior on the strongest columns, and on those that turn out to matter beside them."""
        varying, rng, settings = screen.varying, _generator(self.random_state), self._settings()
        M, kept = len(varying), self._first_columns(screen)
        candidates, tilt = self._candidates(varying, kept, references), self._tilt_outside(M)
        passes, joined, ratio, starts, quick = 1, 0, OthersRatio(), None, self.solver == "chain"
        while True:
            training, left_out = screen.training(candidates), int(screen.left_out(candidates).sum())
            target = self._target(candidates, training, left_out, ratio)
            found = self._run(target, rng, starts, quick)
            odds, ratio = screen.outside(candidates, target, found, settings, tilt)
            passes += left_out > 0
            more = joining(odds, max(start(len(screen.y)), len(candidates.columns)))
            if found.interrupted or (not quick and (passes > ROUNDS or not more.any())):
                break
            quick = quick and bool(more.any()) and passes < ROUNDS  # a rough idea of the sets finds most of them
            before, kept, joined = candidates, kept | more, joined + int(more.sum())
            candidates = self._candidates(varying, kept, references)
            starts = in_new_places(found.sets, before, candidates, CHAINS)
        p = 1.0 - 1.0 / (1.0 + odds)  # 1 for infinite odds
        largest, imputed = float(p.max(initial=0.0)), int(screen.moments.missing.sum())
        certificate = Certificate(left_out, passes, joined, largest, float(p.sum()), imputed)
        self._warn_of_columns_left_out(certificate)
        return replace(self.selection(candidates, training, found), certificate=certificate)

    def _first_columns(self, screen: Screen) -> NDArray[np.bool_]:
        """The columns (M,) to begin with."""
        M = len(screen.strengths)
        asked: list[Any] = [n for n in (self.expected_size, self.n_features_to_select) if is_number(n)]
        first = start(len(screen.y)) if self.screen is None else int(self.screen)
        n = max(first, *(int(ROOM * n) for n in asked), 1)
        return screen.first(n, self._always(M), self._groups(M))

    def _warn_of_columns_left_out(self, certificate: Certificate) -> None:
        if certificate.largest > JOINS:
            warnings.warn(
                Message(
                    f"Some of the {certificate.left_out:,} columns that were left out could have a probability of up "
                    f"to {certificate.largest:.2g}: begin with more of them (",
                    Argument("screen"),
                    ").",
                ),
                ConvergenceWarning,
                stacklevel=4,
            )

    def _run(
        self, target: Target, rng: np.random.Generator, starts: list[IntArray] | None = None, quick: bool = False
    ) -> Sample | Fit:
        settings = self._settings()
        if quick and isinstance(settings, ChainSettings):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return sample(target, rng, replace(settings, max_laps=min(QUICK, settings.max_laps)), starts=starts)
        most = settings.max_laps if isinstance(settings, ChainSettings) else settings.iterations
        with ExitStack() as stack:
            callback = stack.enter_context(ProgressLine(most=most)) if self.verbose else None
            if isinstance(settings, ChainSettings):
                return sample(target, rng, settings, starts=starts, callback=callback)
            return fit(target, rng, settings, callback=callback)

    def selection(
        self, candidates: Candidates, training: Training, found: Sample | Fit, chosen: IntArray = NOTHING
    ) -> Selection:
        """What was found, as a value, with the names, classes and choices of this estimator."""
        names = candidates.unit_names(
            column_labels(self._names, candidates.n_columns), self._labels(candidates.n_columns)
        )
        return Selection(
            candidates=candidates,
            training=training,
            posterior=Posterior(found, names),
            chosen=chosen,
            names=self._names,
            classes=getattr(self, "classes_", None),
            task=self._task.name,
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

    def _always(self, n_columns: int) -> IntArray:
        given = () if self.always_include is None else self.always_include
        return find_positions(given, self._names, n_columns, "always_include", self._labels(n_columns))

    def _labels(self, n_columns: int) -> list[Any] | None:
        """What columns that go together are called, for each column."""
        return by_column(self.groups, self._names, n_columns, "groups")

    def _groups(self, n_columns: int) -> NDArray[Any] | None:
        """The group of each column (M,), if there are any."""
        return group_of_columns(self._labels(n_columns))

    def _candidates(
        self, varying: NDArray[np.bool_], kept: NDArray[np.bool_], references: IntArray | None = None
    ) -> Candidates:
        """What there is to choose from, of the columns (M,) that are kept."""
        M = len(varying)
        always = self._always(M)
        open_ = kept.copy()
        open_[always] = False
        found = choose_candidates(M, always, self._groups(M), open_, varying, references)
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

    def _warn_of_rank(self, rank: int, n_candidates: int) -> None:
        """A similarity that was given, and lets hardly any features be in a set together, decides the answer."""
        if not isinstance(self.similarity, str) and rank < min(LOW_RANK, n_candidates // 2):
            warnings.warn(
                Message(
                    f"The similarity has rank {rank}: at most {rank} of {n_candidates} features can be in a set "
                    "together, and fewer are likely, whatever the data say; give one that tells more of them apart, "
                    "such as by a smaller ",
                    Argument("bandwidth"),
                    " or a larger ",
                    Argument("rank"),
                    ".",
                ),
                SimilarityWarning,
                stacklevel=5,
            )

    def likelihood(self, candidates: Candidates, training: Training) -> Any:
        """The likelihood of these rows over the features to choose from."""
        options = {"covariates": training.covariates, "sample_weight": training.weights}
        if self.slab_precision != "auto":
            options["slab_precision"] = float(self.slab_precision)
        parts: list[Any] = self._task.likelihoods(training.design, training.y, **options)
        if candidates.is_grouped:
            parts = [Grouped(part, candidates.unit) for part in parts]
        return parts[0] if len(parts) == 1 else SumLikelihood(parts, n_jobs=self.n_jobs)

    def _target(
        self, candidates: Candidates, training: Training, others: int = 0, ratio: OthersRatio | None = None
    ) -> Target:
        U = candidates.n_units
        size = number_to_select(self.n_features_to_select, U)
        phi = self._phi(candidates, training, size) if "dpp" in (self.prior, self.posterior) else None
        most = largest_size(phi, U)
        if most == 0:
            raise ValueError("All rows of similarity are zero, so no feature can be in a set: give others.")
        size = number_to_select(self.n_features_to_select, U, most)
        self._warn_of_rank(most, U)
        tilt = self._tilt(candidates.n_columns)
        tilt = None if tilt is None else candidates.gather(tilt)
        prior = self._prior(candidates, phi, most if self._power else U, tilt)
        target = Target(
            self.likelihood(candidates, training),
            prior,
            family=self.posterior,  # type: ignore[arg-type]
            phi=phi,
            size=size if self.fixed_size else None,
            others=others,
            others_ratio=ratio or OthersRatio(),
            tilt=tilt,
        )
        if not others or self.fixed_size:
            return target
        # so many are expected among all columns, those that are left out included
        shift = PriorSizes.of(target).shift(prior_size(self.expected_size, most, FIRST_SIZE))
        return target.with_prior(prior.shifted(shift))

    def _phi(self, candidates: Candidates, training: Training, size: int | None) -> NDArray[Any]:
        rank = max(RANK, 2 * (size or 0), int(2 * (self.expected_size or 0)))
        design, weights = training.design, training.row_weights
        return similarity_features(self.similarity, design, weights, candidates, self._names, rank)

    def _tilt(self, n_columns: int) -> FloatArray | None:
        """Prior log-odds of all columns (M,), if any were given."""
        labels = self._labels(n_columns)
        return log_odds_of_columns(by_column(self.prior_log_odds, self._names, n_columns, "prior_log_odds", labels))

    def _tilt_outside(self, n_columns: int) -> FloatArray | None:
        """What the prior has for each column alone (M,), beside its constant; None if it has nothing."""
        tilt = self._tilt(n_columns)
        norms = log_norms(self.similarity, self._names, n_columns) if self._power else None
        if norms is None:
            return tilt
        return self._power * norms if tilt is None else tilt + self._power * norms

    def _prior(self, candidates: Candidates, phi: NDArray[Any] | None, most: int, tilt: FloatArray | None) -> Prior:
        size = prior_size(self.expected_size, most, FIRST_SIZE)
        if phi is not None and self._power:
            return dpp_prior(phi, expected_size=size, log_odds=tilt, diversity=self._power)
        return bernoulli_prior(candidates.n_units, expected_size=size, log_odds=tilt)

    @property
    def _power(self) -> float:
        """The exponent of the volume in the prior."""
        return float(self.diversity) if self.prior == "dpp" else 0.0

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
        candidates = self.selection_.candidates
        chosen, covariates = (
            self._of_large(X) if is_out_of_core(X) else candidates.of(validate_data(self, X, reset=False, **READ))
        )
        rows = new_rows(chosen, covariates, len(candidates.columns), len(candidates.always))
        return [average_predictions(o.components, rows) for o in self.selection_.outcomes]

    def _of_large(self, X: Any) -> tuple[Any, Any]:
        """Candidates and always included columns of a table that is not in memory, missing entries at the mean."""
        large, found = as_large_table(X), self.selection_
        if large.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} columns, as when fitted, got {large.shape[1]}.")
        if large.names is not None and self._names is not None:
            other = np.flatnonzero(large.names.astype(str) != self._names.astype(str))
            if len(other):
                raise ValueError(
                    f"X must have the columns of the fit, in their order; column {other[0]} is "
                    f"{str(large.names[other[0]])!r}, and was {str(self._names[other[0]])!r}."
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


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**32, dtype=np.uint32))
