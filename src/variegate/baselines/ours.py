"""Our method, and the paper's variational methods."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from ..estimators import ESTIMATORS
from ..inference import ConvergenceWarning
from ..paper import VariationalClassifier, VariationalRegressor
from ..similarity import SimilarityWarning
from ..types import IntArray
from .problem import Problem

SHORT = 16  # laps: the mean of log c then differs by 0.1 between seeds (breast cancer), a fifth of a step of its grid

STARTS = 2  # of the paper's methods. Classes, M = 200: the ELBO is −85.1 with two, −84.7 with four, in half the time
VARIATIONAL = {"regression": VariationalRegressor, "classification": VariationalClassifier}

Law = Literal["dpp", "bernoulli"]


@dataclass(frozen=True)
class Diverse:
    """Our method: the panel, or the most probable set; similarity from the columns unless given.

    The fields are parameters of the estimators. `max_iter` ends a fit early, without a warning: a set needs fewer laps
    than probabilities.

    >>> from variegate.baselines import Problem, select
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> select(Diverse(diversity=4), Problem(X, X[:, 1] + X[:, 2], "regression"), size=2, rng=0)
    array([1, 2])
    """

    max_iter: int | None = None
    diversity: float = 1.0
    expected_size: float | None = None
    tol: float | None = None
    choose: str = "prediction"
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        model = _estimator(problem, n_features_to_select=size, random_state=rng, **asdict(self))
        with warnings.catch_warnings():
            if self.max_iter is not None:
                warnings.simplefilter("ignore", ConvergenceWarning)
            return np.flatnonzero(model.fit(problem.X, problem.y).support_)


def diverse_path(
    problem: Problem, diversities: Sequence[float], sizes: Sequence[int], rng: np.random.Generator
) -> list[tuple[float, int, IntArray]]:
    """The panel of each size under each weight of diversity, (β, size, positions), all from one short fit."""
    model = _estimator(problem, max_iter=SHORT, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SimilarityWarning)  # about a rank that limits sizes, which are given here
        found = model.search(problem.X, problem.y)
    with threadpool_limits(1, user_api="blas"):
        return [
            (beta, size, np.flatnonzero(found.candidates.mask(S)))
            for beta, size, S in found.panels().each_best(sizes, diversities)
        ]


@dataclass(frozen=True)
class Variational:
    """The most probable set of q, the optimum of the ELBO; hyperparameters learned, similarity from the columns.

    It is not improved by exchanges under the target, as in the paper: otherwise methods that share a target would end
    in much the same set whatever their q. Without a size, it may have any size.
    """

    prior: Law
    posterior: Law
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        if problem.task not in VARIATIONAL:
            raise ValueError(f"the paper's methods are for regression and classification, got {problem.task}.")
        model = VARIATIONAL[problem.task](
            prior=self.prior,
            posterior=self.posterior,
            similarity=_similarity(problem),
            n_features_to_select=size,
            n_starts=STARTS,
            random_state=rng,
        )
        return np.flatnonzero(model.fit(problem.X, problem.y).support_)


def _estimator(problem: Problem, **parameters: Any) -> Any:
    return ESTIMATORS[problem.task](similarity=_similarity(problem), **parameters)


def _similarity(problem: Problem) -> Any:
    return "columns" if problem.phi is None else problem.phi
