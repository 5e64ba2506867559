"""One column at a time: the strongest alone, and chance among them."""

import numpy as np

from ..screening import f_statistics, likelihood_ratios
from ..types import FloatArray, IntArray
from .problem import Problem

POOL = 10  # times the size: what chance may choose from


def univariate(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """The columns with the strongest relation to the outcome, each taken alone.

    By the F statistic in regression, by the likelihood ratio of logistic regression in classification (with more
    than two classes the sum over one-vs-rest). Ties go to the column further left.
    """
    return np.sort(ranking(problem)[:size])


def random_among_best(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """Columns drawn at random from the 10 · size that are strongest alone.  Paper: "Random" in figure 2."""
    return np.sort(rng.choice(ranking(problem)[: POOL * size], size, replace=False))


def ranking(problem: Problem) -> IntArray:
    """All columns (M,), the strongest alone first."""
    return np.argsort(-scores(problem), kind="stable")


def scores(problem: Problem) -> FloatArray:
    """F or summed likelihood-ratio statistics (M,); negative for constant columns."""
    statistic = f_statistics if problem.task == "regression" else likelihood_ratios
    return np.asarray(np.sum([statistic(problem.X, t) for t in problem.outcomes], axis=0))


def filled(chosen: IntArray, problem: Problem, size: int) -> IntArray:
    """The chosen columns and, where a method ran out of them, the strongest alone of the rest; sorted."""
    if len(chosen) == size:
        return np.sort(chosen)
    rest = ranking(problem)
    return np.sort(np.append(chosen, rest[~np.isin(rest, chosen)][: size - len(chosen)]))
