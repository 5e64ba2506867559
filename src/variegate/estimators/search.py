"""From a table to the posterior over sets of its columns, according to the parameters."""

import warnings
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state

from ..candidates import Candidates, by_column, choose_candidates, group_of_columns, log_odds_of_columns
from ..design import Design
from ..dpp import Rows
from ..inference import (
    ChainSettings,
    ConvergenceWarning,
    OthersRatio,
    PriorSizes,
    Sample,
    Target,
    sample,
)
from ..likelihoods import sample_weights, unsettled_of
from ..naming import column_labels, find_positions
from ..posterior import Posterior
from ..priors import Prior, bernoulli_prior, dpp_prior
from ..selection import Selection, Training
from ..side_information import RANK, log_norms, similarity_features
from ..similarity import SimilarityWarning
from ..tasks import Task
from ..types import FloatArray, IntArray
from .parameters import Parameters
from .progress import ProgressLine
from .sizes import check_size, number_to_select, prior_size

LOW_RANK = 15  # a similarity of lower rank decides the size of sets
FIRST_SIZE = 10.0  # expected size of the prior before it is learned
QUICK = 4  # laps of the chains while columns still join


@dataclass(frozen=True, eq=False)
class Search:
    """The parameters, with the task and the columns that they refer to."""

    asked: Parameters
    task: Task
    names: NDArray[Any] | None  # (M,) of the columns, if they have any
    n_columns: int

    # --- columns ----------------------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> list[Any] | None:
        """The label of each column's group, if any were given."""
        return by_column(self.asked.groups, self.names, self.n_columns, "groups")

    @cached_property
    def groups(self) -> NDArray[Any] | None:
        """The group of each column (M,), if there are any."""
        return group_of_columns(self.labels)

    @cached_property
    def always(self) -> IntArray:
        """The columns that are in every set."""
        given = () if self.asked.always_include is None else self.asked.always_include
        return find_positions(given, self.names, self.n_columns, "always_include", self.labels)

    @cached_property
    def tilt(self) -> FloatArray | None:
        """Prior log-odds of all columns (M,), if any were given."""
        given = self.asked.prior_log_odds
        return log_odds_of_columns(by_column(given, self.names, self.n_columns, "prior_log_odds", self.labels))

    def check_names(self) -> None:
        """Reject names that do not exist."""
        _ = self.always, self.groups, self.tilt

    def tilt_outside(self) -> FloatArray | None:
        """Return the prior's log-odds terms for single columns (M,), without the constant; None if there are none."""
        power = float(self.asked.diversity)
        norms = log_norms(self.asked.similarity, self.names, self.n_columns) if power else None
        if norms is None:
            return self.tilt
        return power * norms if self.tilt is None else self.tilt + power * norms

    def candidates(self, varying: NDArray[np.bool_], kept: NDArray[np.bool_], references: IntArray) -> Candidates:
        """Return what there is to choose from among the columns kept (M,)."""
        open_ = kept.copy()
        open_[self.always] = False
        return choose_candidates(self.n_columns, self.always, self.groups, open_, varying, references)

    def size(self, candidates: Candidates) -> int | None:
        """Return the requested number of features."""
        return number_to_select(self.asked.n_features_to_select, candidates.n_units)

    def warn_of_constants(self, varying: NDArray[np.bool_]) -> None:
        """Warn that some columns are constant."""
        columns = np.setdiff1d(np.flatnonzero(~varying), self.always)
        if len(columns):
            example = f"number {columns[0]}" if self.names is None else repr(self.names[columns[0]])
            warnings.warn(
                f"Constant columns: {len(columns)} of {self.n_columns} (e.g. {example}); they say nothing about the "
                "outcome and are never selected.",
                SimilarityWarning,
                stacklevel=5,
            )

    # --- the target -------------------------------------------------------------------------------------------

    def outcomes(self, training: Training) -> list[Any]:
        """Return the likelihoods of these rows over the columns to choose from."""
        options = {"covariates": training.covariates, "sample_weight": training.weights}
        if self.asked.slab_precision != "auto":
            options["slab_precision"] = float(self.asked.slab_precision)
        return self.task.likelihoods(training.design, training.y, **options)

    def target(
        self, candidates: Candidates, training: Training, others: int = 0, ratio: OthersRatio | None = None
    ) -> Target:
        """Return the unnormalised posterior to sample; `others` is the number of columns left out of it."""
        asked, U = self.asked, candidates.n_units
        size = self.size(candidates)
        rows = Rows.of(self._phi(candidates, training, size))
        rank = rows.rank()
        most = rank if asked.diversity or asked.fixed_size else U  # without diversity, copies can be in a set
        if rank == 0:
            raise ValueError(
                "similarity must have a row that is not zero, got only zeros, so that no feature could be in "
                "a set; give another similarity."
            )
        check_size(size, asked.n_features_to_select, U, most)
        self._warn_of_rank(rank, U)
        tilt = None if self.tilt is None else candidates.gather(self.tilt)
        expected = prior_size(asked.expected_size, rank if asked.diversity else U, FIRST_SIZE)
        prior = self._prior(rows, U, expected, tilt)
        target = Target(
            self.outcomes(training),
            prior,
            phi=rows.phi,
            size=size if asked.fixed_size else None,
            others=others,
            others_ratio=ratio or OthersRatio(),
            tilt=tilt,
            units=candidates.unit if candidates.is_grouped else None,
        )
        if not others or asked.fixed_size:
            return target
        # the expected size counts all columns, including those left out
        shift = PriorSizes.of(target).shift(expected)
        return target.with_prior(prior.shifted(shift))

    def _prior(self, rows: Rows, n_units: int, size: float, tilt: FloatArray | None) -> Prior:
        if self.asked.diversity:
            return dpp_prior(rows, expected_size=size, log_odds=tilt, diversity=float(self.asked.diversity))
        return bernoulli_prior(n_units, expected_size=size, log_odds=tilt)

    def _phi(self, candidates: Candidates, training: Training, size: int | None) -> NDArray[Any]:
        rank = max(RANK, 2 * (size or 0), int(2 * (self.asked.expected_size or 0)))
        design, weights = training.design, training.row_weights
        return similarity_features(self.asked.similarity, design, weights, candidates, self.names, rank)

    def _warn_of_rank(self, rank: int, n_candidates: int) -> None:
        """Warn of a given similarity whose rank is so low that it decides the size of sets."""
        if not isinstance(self.asked.similarity, str) and rank < min(LOW_RANK, n_candidates // 2):
            warnings.warn(
                f"The similarity has rank {rank}: at most {rank} of {n_candidates} features can be in a "
                "set together, and fewer are likely, whatever the data say; give one that separates more "
                "of them, for instance with a smaller bandwidth or a larger rank.",
                SimilarityWarning,
                stacklevel=6,
            )

    # --- the posterior ----------------------------------------------------------------------------------------

    def settings(self) -> ChainSettings:
        """Return when the chains stop, and what they average over."""
        asked, defaults = self.asked, ChainSettings()
        return ChainSettings(
            tol=defaults.tol if asked.tol is None else asked.tol,
            max_laps=defaults.max_laps if asked.max_iter is None else asked.max_iter,
            average_size=asked.expected_size is None,
            average_slab=asked.slab_precision == "auto",
        )

    def run(
        self, target: Target, rng: np.random.Generator, starts: list[IntArray] | None = None, quick: bool = False
    ) -> Sample:
        """Run the chains; `quick` gives a rough posterior."""
        settings = self.settings()
        for found in unsettled_of(target.outcomes):  # `end_of_fit` warns of them
            found.counting = True
        if quick:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return sample(target, rng, replace(settings, max_laps=min(QUICK, settings.max_laps)), starts=starts)
        with ExitStack() as stack:
            callback = stack.enter_context(ProgressLine()) if self.asked.verbose else None
            return sample(target, rng, settings, starts=starts, callback=callback)

    def in_memory(self, X: Any, y: NDArray[Any], weights: FloatArray | None, references: IntArray) -> Selection:
        """Find the posterior over all columns of a table (N, M)."""
        candidates, training = self.columns(X, y, weights, references)
        return self.selection(candidates, training, self.run(self.target(candidates, training), self.generator()))

    def columns(
        self, X: Any, y: NDArray[Any], weights: FloatArray | None, references: IntArray
    ) -> tuple[Candidates, Training]:
        """Return the features among all columns of a table (N, M), and the rows as likelihoods see them."""
        design = Design.of(X, sample_weights(weights, X.shape[0]))
        candidates = self.candidates(design.varying, design.varying, references)
        self.warn_of_constants(design.varying)
        covariates = X[:, candidates.always] if len(candidates.always) else None
        return candidates, Training(design.take(candidates.columns), covariates, y, weights)

    def selection(self, candidates: Candidates, training: Training, found: Sample) -> Selection:
        """Return the result as a value, before a set is chosen."""
        return Selection(
            candidates=candidates,
            training=training,
            posterior=Posterior(found, candidates.unit_names(column_labels(self.names, self.n_columns), self.labels)),
            names=self.names,
            task=self.task.name,
            size=self.size(candidates),
            choose=self.asked.choose,
            average=self.asked.average,
        )

    def generator(self) -> np.random.Generator:
        """Return the random generator."""
        given = self.asked.random_state
        if isinstance(given, np.random.Generator):
            return given
        return np.random.default_rng(check_random_state(given).randint(2**32, dtype=np.uint32))
