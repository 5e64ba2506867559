"""Tasks to workers, results to the store as they come; what dies is tried alone."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .bar import ProgressBar
from .store import Store
from .workers import Died, Job, Run, Workers, workers_with


def _itself(job: Job) -> Iterable[Job]:
    return (job,)


class Work(NamedTuple):
    """What is done with each job; none of the three raises.

    run : run(shared, *job), its results by key
    died : results that say of a job that its worker died, also when it ran alone
    pieces : the smaller jobs that a job consists of, drawn one by one as each is done
    """

    run: Run
    died: Callable[[Job, str], Mapping[str, Any]]
    pieces: Callable[[Job], Iterable[Job]] = _itself


class Running(NamedTuple):
    """How jobs are run; none of it changes a result."""

    n_jobs: int | None
    progress: bool


def collect(work: Work, shared: Any, jobs: Sequence[Job], store: Store, options: Running) -> dict[str, Any]:
    """Run jobs, keep each one's results as it is done, and return all results in the store, older ones too.

    Tasks whose worker died come again at the end, piece by piece and one at a time: so it is known which of them kills
    its worker, and one that ran out of memory in company has it all.
    """
    if not jobs:
        return store.results()
    workers = workers_with(shared, options.n_jobs)
    suspects: list[Job] = []
    with ProgressBar(len(jobs), options.progress) as bar:
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
    return work.died(job, f"{found.error}\nIt killed its worker, also when it ran alone.")
