"""Our own method, and the paper's four variational ones."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..estimators import ESTIMATORS
from ..inference import ConvergenceWarning
from ..types import IntArray
from .problem import Problem

Law = Literal["dpp", "bernoulli"]


@dataclass(frozen=True)
class Diverse:
    """Our own method: the best set of the exact posterior; similarity from the columns unless given.

    `max_iter` ends a fit early, without a warning: a set needs less than probabilities.
    """

    max_iter: int | None = None
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        model = _estimator(problem, n_features_to_select=size, max_iter=self.max_iter, random_state=rng)
        with warnings.catch_warnings():
            if self.max_iter is not None:
                warnings.simplefilter("ignore", ConvergenceWarning)
            return np.flatnonzero(model.fit(problem.X, problem.y).support_)


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


def _estimator(problem: Problem, **parameters: Any) -> Any:
    return ESTIMATORS[problem.task](similarity="columns" if problem.phi is None else problem.phi, **parameters)
