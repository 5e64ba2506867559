"""Tasks to workers, results to the store as they come; what dies is tried alone."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .bar import ProgressBar
from .store import Store
from .workers import Died, Run, Task, Workers, workers_with


def _itself(task: Task) -> Iterable[Task]:
    return (task,)


class Work(NamedTuple):
    """What is done with each task; none of the three raises.

    run : run(shared, *task), its results by key
    died : results that say of a task that its worker died, also when it ran alone
    pieces : the smaller tasks that a task consists of, drawn one by one as each is done
    """

    run: Run
    died: Callable[[Task, str], Mapping[str, Any]]
    pieces: Callable[[Task], Iterable[Task]] = _itself


class Running(NamedTuple):
    """How tasks are run; none of it changes a result."""

    n_jobs: int | None
    progress: bool


def collect(work: Work, shared: Any, tasks: Sequence[Task], store: Store, options: Running) -> dict[str, Any]:
    """Run tasks, keep each one's results as it is done, and return all results in the store, older ones too.

    Tasks whose worker died come again at the end, piece by piece and one at a time: so it is known which of them kills
    its worker, and one that ran out of memory in company has it all.
    """
    if not tasks:
        return store.results()
    workers = workers_with(shared, options.n_jobs)
    suspects: list[Task] = []
    with ProgressBar(len(tasks), options.progress) as bar:
        for task, found in workers.results(work.run, tasks):
            if isinstance(found, Died):
                suspects.append(task)
                continue
            store.add(found)
            bar.advance()
        for task in suspects:
            for piece in work.pieces(task):
                store.add(_alone(work, piece, workers))
            bar.advance()
    if suspects:
        warnings.warn(
            f"Workers died: {len(suspects)} of {len(tasks)} tasks had to be run again, one at a time. If memory ran "
            "out, use fewer workers.",
            stacklevel=3,
        )
    return store.results()


def _alone(work: Work, task: Task, workers: Workers) -> Mapping[str, Any]:
    ((_, found),) = workers.results(work.run, [task])
    if not isinstance(found, Died):
        return found  # type: ignore[no-any-return]
    return work.died(task, f"{found.error}\nIt killed its worker, also when it ran alone.")
