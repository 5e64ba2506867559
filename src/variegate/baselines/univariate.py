"""One column at a time: the strongest alone, and chance among them."""

import numpy as np

from ..tasks import task_named
from ..types import IntArray
from .problem import Problem

POOL = 10  # times the size: what chance may choose from


def univariate(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """The columns with the strongest relation to the outcome, each taken alone.

    By the statistic of the task, `Task.strengths`; ties go to the column further left.
    """
    return np.sort(ranking(problem)[:size])


def random_among_best(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """Columns drawn at random from the 10 · size that are strongest alone.  Paper: "Random" in figure 2."""
    return np.sort(rng.choice(ranking(problem)[: POOL * size], size, replace=False))


def ranking(problem: Problem) -> IntArray:
    """All columns (M,), the strongest alone first."""
    return np.argsort(-task_named(problem.task).strengths(problem.X, problem.y), kind="stable")


def filled(chosen: IntArray, problem: Problem, size: int) -> IntArray:
    """The chosen columns and, where a method ran out of them, the strongest alone of the rest; sorted."""
    if len(chosen) == size:
        return np.sort(chosen)
    rest = ranking(problem)
    return np.sort(np.append(chosen, rest[~np.isin(rest, chosen)][: size - len(chosen)]))
