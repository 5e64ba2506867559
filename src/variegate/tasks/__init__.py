"""Kinds of outcome: each has its likelihoods, screening statistic, splits and scores."""

from .classification import Classification
from .counts import Counts, count_rows
from .protocol import RIDGE as RIDGE
from .protocol import Task
from .regression import Regression
from .survival import Survival, as_survival, survival_rows

TASKS: dict[str, Task] = {task.name: task for task in (Regression(), Classification(), Survival(), Counts())}


def task_named(name: object) -> Task:
    """The task with this name.

    >>> task_named("regression").accuracy
    'R2'
    """
    if not isinstance(name, str) or name not in TASKS:
        known = ", ".join(f'"{known}"' for known in TASKS)
        raise ValueError(f"task must be one of {known}, got {name!r}.")
    return TASKS[name]


__all__ = [
    "TASKS",
    "Classification",
    "Counts",
    "Regression",
    "Survival",
    "Task",
    "as_survival",
    "count_rows",
    "survival_rows",
    "task_named",
]
