"""Our own method, and the paper's four variational ones."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from ..estimators import ESTIMATORS
from ..inference import ConvergenceWarning, diverse_sets
from ..similarity import SimilarityWarning
from ..types import IntArray
from .problem import Problem

SHORT = 16  # laps: seeds then differ by 0.1 in the mean of log c (breast cancer), a fifth of a step of its grid

Law = Literal["dpp", "bernoulli"]


@dataclass(frozen=True)
class Diverse:
    """Our own method: the best set of the exact posterior; similarity from the columns unless given.

    `max_iter` ends a fit early, without a warning: a set needs less than probabilities.

    >>> from variegate.baselines import Problem, select
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> select(Diverse(diversity=4), Problem(X, X[:, 1] + X[:, 2], "regression"), size=2, rng=0)
    array([1, 2])
    """

    max_iter: int | None = None
    diversity: float = 1.0
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        parameters = {"n_features_to_select": size, "max_iter": self.max_iter, "diversity": self.diversity}
        model = _estimator(problem, **parameters, random_state=rng)
        with warnings.catch_warnings():
            if self.max_iter is not None:
                warnings.simplefilter("ignore", ConvergenceWarning)
            return np.flatnonzero(model.fit(problem.X, problem.y).support_)


def diverse_path(
    problem: Problem, diversities: Sequence[float], sizes: Sequence[int], rng: np.random.Generator
) -> list[tuple[float, int, IntArray]]:
    """The best set of each size under each diversity, (β, size, positions), all from one short fit.

    The fit finds out how strongly coefficients are shrunk; sets of one size under one β need no more.
    """
    model = _estimator(problem, max_iter=SHORT, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SimilarityWarning)  # of a rank that decides the size, which is given here
        found = model.search(problem.X, problem.y)
    with threadpool_limits(1, user_api="blas"):
        return [
            (beta, size, np.flatnonzero(found.candidates.mask(S)))
            for beta, size, S in diverse_sets(found.posterior.target, diversities, sizes)
        ]


@dataclass(frozen=True)
class Variational:
    """The best set of q, the optimum of the ELBO, hyperparameters learned; similarity from the columns unless given.

    It is q's own best set, as in the paper, not exchanged on the target: siblings that share a target would otherwise
    end in much the same set whatever their q. Given no size they return the size of that set.
    """

    prior: Law
    posterior: Law
    n_starts: int = 4
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        model = _estimator(
            problem,
            prior=self.prior,
            posterior=self.posterior,
            n_features_to_select=size,
            solver="rao_blackwell",
            n_starts=self.n_starts,
            random_state=rng,
        )
        # no fit(): it would exchange members of a set that nobody asked for
        found = model.search(problem.X, problem.y)
        return np.flatnonzero(found.candidates.mask(found.posterior.q.map(size)))


@dataclass(frozen=True)
class Matched:
    """The best set of the DPP that has the inclusion probabilities of the exact posterior under a Bernoulli prior."""

    max_iter: int | None = None
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        parameters = {"prior": "bernoulli", "n_features_to_select": size, "max_iter": self.max_iter}
        model = _estimator(problem, **parameters, posterior="dpp", random_state=rng)
        with warnings.catch_warnings():
            if self.max_iter is not None:
                warnings.simplefilter("ignore", ConvergenceWarning)
            found = model.search(problem.X, problem.y)
        return np.flatnonzero(found.candidates.mask(found.posterior.q.map(size)))


def _estimator(problem: Problem, **parameters: Any) -> Any:
    return ESTIMATORS[problem.task](similarity="columns" if problem.phi is None else problem.phi, **parameters)
