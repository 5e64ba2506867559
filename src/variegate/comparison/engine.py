"""Hand jobs to workers and store their results; jobs of dead workers are retried alone."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .bar import ProgressBar
from .store import Store
from .workers import Died, Job, Run, Workers, workers_with


def _failed(job: Job, error: str) -> dict[str, Any]:
    return {str(job[0]): {"error": error}}


def _itself(job: Job) -> Iterable[Job]:
    return (job,)


class Work(NamedTuple):
    """What to do with each job; none of the three functions raises.

    run : run(shared, *job) returns the results by key
    shared : sent once to every worker
    died : results for a job whose worker died even when it ran alone; by default the error, under the job's number
    pieces : the smaller jobs of a job, generated one by one as each is done
    """

    run: Run
    shared: Any
    died: Callable[[Job, str], Mapping[str, Any]] = _failed
    pieces: Callable[[Job], Iterable[Job]] = _itself


def is_done(results: Mapping[str, Any], key: str) -> bool:
    """Whether there is a result that is not a failure."""
    return key in results and results[key]["error"] is None


def collect(work: Work, jobs: Sequence[Job], store: Store, n_jobs: int | None, progress: bool) -> dict[str, Any]:
    """Run jobs, store the results of each when it is done, and return all results in the store, including older ones.

    Jobs whose worker died are retried at the end, one piece at a time: this shows which of them kills its worker, and
    one that ran out of memory has all of it.
    """
    if not jobs:
        return store.results()
    workers = workers_with(work.shared, n_jobs)
    suspects: list[Job] = []
    with ProgressBar(len(jobs), progress) as bar:
        for job, found in workers.results(work.run, jobs):
            if isinstance(found, Died):
                suspects.append(job)
                continue
            store.add(found)
            bar.advance()
        for job in suspects:
            for piece in work.pieces(job):
                store.add(_alone(work, piece, workers))
            bar.advance()
    if suspects:
        warnings.warn(
            f"Workers died: {len(suspects)} of {len(jobs)} jobs had to be run again, one at a time. If memory ran "
            "out, use fewer workers.",
            stacklevel=3,
        )
    return store.results()


def _alone(work: Work, job: Job, workers: Workers) -> Mapping[str, Any]:
    ((_, found),) = workers.results(work.run, [job])
    if not isinstance(found, Died):
        return found  # type: ignore[no-any-return]
    return work.died(job, f"{found.error}\nIt killed its worker even when it ran alone.")
