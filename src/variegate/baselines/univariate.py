"""Single columns: the strongest, and a random choice among the strongest."""

import numpy as np

from ..screening import strongest
from ..tasks import task_named
from ..types import IntArray
from .problem import Problem

POOL = 10  # times the size: the columns from which a random set is drawn


def univariate(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """The columns with the strongest relation to the outcome, each taken alone.

    Ranked by the statistic of the task, `Task.strengths`; ties go to the left.
    """
    return strongest(task_named(problem.task).strengths(problem.X, problem.y), size)


def random_among_best(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """Columns drawn at random from the 10 · size that are strongest alone.  Paper: "Random" in figure 2."""
    return np.sort(rng.choice(ranking(problem)[: POOL * size], size, replace=False))


def ranking(problem: Problem) -> IntArray:
    """All columns (M,), the strongest first, each taken alone."""
    return np.argsort(-task_named(problem.task).strengths(problem.X, problem.y), kind="stable")


def filled(chosen: IntArray, problem: Problem, size: int) -> IntArray:
    """The chosen columns, filled up to `size` with the strongest of the others; sorted."""
    if len(chosen) == size:
        return np.sort(chosen)
    rest = ranking(problem)
    return np.sort(np.append(chosen, rest[~np.isin(rest, chosen)][: size - len(chosen)]))
