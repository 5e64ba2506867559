"""Our own method, and its three siblings with other priors and posteriors."""

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..dpp.sets import IntArray
from ..estimators import DiverseClassifier, DiverseRegressor
from ..inference import ConvergenceWarning
from ..posterior import Posterior
from .problem import Problem

Law = Literal["dpp", "bernoulli"]


@dataclass(frozen=True)
class Variational:
    """The best set of a variational posterior, hyperparameters learned; similarity from the columns unless given.

    `polished`: exchanged on the target itself, as our estimators do. Otherwise it is q's own best set, as in the
    paper; siblings that share a target would otherwise end in much the same set whatever their q. Given no size they
    return the size of that set. `max_iter` ends a fit early, without a warning: a set needs less than probabilities.
    """

    prior: Law
    posterior: Law
    polished: bool = False
    n_starts: int = 4
    max_iter: int | None = None
    chooses_size: ClassVar[bool] = True

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        estimator = DiverseRegressor if problem.task == "regression" else DiverseClassifier
        model = estimator(
            similarity="columns" if problem.phi is None else problem.phi,
            prior=self.prior,
            posterior=self.posterior,
            n_features_to_select=size,
            n_starts=self.n_starts,
            max_iter=self.max_iter,
            random_state=rng,
        )
        with warnings.catch_warnings():
            if self.max_iter is not None:
                warnings.simplefilter("ignore", ConvergenceWarning)
            if self.polished:
                return np.flatnonzero(model.fit(problem.X, problem.y).support_)
            # no fit(): it would polish a set that nobody asked for
            S = Posterior(model._fit_posterior(problem.X, problem.y)).map(size, polished=False)
        return np.flatnonzero(model._candidates.mask(S))
