"""Tasks on however many processes or machines joblib reaches; results as they come."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from .bar import ProgressBar
from .store import Store

TRIES = 3  # times in a row that workers may die before any task is done


class Running(NamedTuple):
    """How tasks are run; none of it changes a result."""

    n_jobs: int | None
    progress: bool


class WorkersLost(RuntimeError):
    """Workers kept dying.

    >>> issubclass(WorkersLost, RuntimeError)
    True
    """


def run_tasks(
    work: Callable[..., Any], shared: Any, tasks: Sequence[tuple[Any, ...]], n_jobs: int | None = None
) -> Iterator[Any]:
    """Yield work(shared, *task) for each task, in the order in which they are done.

    `work` must not raise: what goes wrong in a task is part of its result. So an error here means that a worker died
    or could not be reached, and what is left is handed out again. `shared` is one argument, so that joblib sends it
    once: as a memory map to processes, scattered to the workers of a Dask cluster.
    """
    left = dict(enumerate(tasks))
    tries = 0
    while left:
        calls = [delayed(_numbered)(work, shared, i, task) for i, task in left.items()]
        try:
            for i, result in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls):
                del left[i]
                tries = 0
                yield result
        except Exception as error:
            tries += 1
            if tries == TRIES:
                raise WorkersLost(
                    f"Workers failed {TRIES} times in a row with {len(left)} of {len(tasks)} tasks left "
                    f"({type(error).__name__}: {error}). If they ran out of memory, use fewer of them (n_jobs). "
                    "What is done is in the store, if one was given: the same call continues there."
                ) from error
            shared = copy.copy(shared)  # a new object is sent anew: its copies may have died with the workers


def _numbered(work: Callable[..., Any], shared: Any, number: int, task: tuple[Any, ...]) -> tuple[int, Any]:
    # one thread, as sums of another order differ in their last digits: the number of workers must not change a result
    with threadpool_limits(1):
        return number, work(shared, *task)


def collect(
    work: Callable[..., Mapping[str, Any]],
    shared: Any,
    tasks: Sequence[tuple[Any, ...]],
    store: Store,
    options: Running,
) -> dict[str, Any]:
    """Run tasks, keep each one's results as it is done, and return all results in the store, older ones too."""
    with ProgressBar(len(tasks), options.progress) as bar:
        for results in run_tasks(work, shared, tasks, options.n_jobs):
            store.add(results)
            bar.advance()
    return store.results()
