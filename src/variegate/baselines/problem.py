"""The input of every method, and the protocol of methods."""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from ..likelihoods import Terms
from ..tasks import task_named
from ..types import FloatArray, IntArray


class Problem(NamedTuple):
    """Training data, not standardised.

    X : (N, M) dense; y : (N,) as its task encodes it; phi : (M, d) similarity features of the columns.

    >>> problem = Problem(np.eye(3), np.array([0, 1, 1]), "classification")
    >>> problem.n_features, len(problem.terms)
    (3, 1)
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    task: str  # a name in `tasks.TASKS`
    phi: npt.NDArray[Any] | None = None

    @property
    def n_features(self) -> int:
        """M."""
        return int(self.X.shape[1])

    @property
    def terms(self) -> list[Terms]:
        """The log-likelihood of a linear predictor, or one for each of several classes against the rest."""
        return task_named(self.task).terms(self.y)

    @property
    def residuals(self) -> FloatArray:
        """What is to be explained (N, K): the slopes of the log-likelihoods without any column."""
        nothing = np.ones(len(self.X))
        return np.stack([terms.derivatives(terms.null * nothing).slope for terms in self.terms], axis=1)

    def standardised(self) -> FloatArray:
        """Columns with mean 0 and variance 1, constant ones 0; shape (N, M), Fortran order."""
        return np.asfortranarray(StandardScaler().fit_transform(np.asarray(self.X, dtype=np.float64)))


class Method(Protocol):
    """Selects `size` columns and returns their sorted positions.

    A method that can choose the size itself has an attribute `chooses_size = True`, and accepts None. The result
    depends only on the problem, the size and the state of the generator.

    >>> def first(problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
    ...     return np.arange(size or 1)
    >>> method: Method = first
    """

    def __call__(self, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
        """Positions of the chosen columns."""
        ...


def checked(problem: Problem) -> Problem:
    """The problem itself; raises if it is not valid."""
    X, y = np.asarray(problem.X), np.asarray(problem.y)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X and y must have shapes (N, M) and (N,), got {X.shape} and {y.shape}.")
    if task_named(problem.task).name == "classification":
        codes = np.unique(y)
        if len(codes) < 2 or not np.array_equal(codes, np.arange(len(codes))):
            raise ValueError(
                f"y must hold class codes 0, 1, …, all of them present, got {codes[:5].tolist()}; "
                "numpy.unique(y, return_inverse=True) makes codes of labels."
            )
    if problem.phi is not None and np.shape(problem.phi)[:1] != X.shape[1:]:
        raise ValueError(f"phi must have {X.shape[1]} rows, one per column of X, got shape {np.shape(problem.phi)}.")
    return problem._replace(X=X, y=y)
