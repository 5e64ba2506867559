"""Tasks handed out to processes or to a Dask cluster, and what comes back: a result, or word that a worker died."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from typing import Any, NamedTuple, Protocol

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

PATIENCE = 120  # seconds that a cluster may be without any worker

Task = tuple[Any, ...]
Run = Callable[..., Any]


class Died(NamedTuple):
    """In place of a result: a worker died that had this task, perhaps among others."""

    error: str


class Workers(Protocol):
    """Whoever does the tasks; they were sent once what all tasks share."""

    def results(self, run: Run, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        """Yield each task with run(shared, *task), or with `Died`, in the order in which they are done.

        `run` must not raise: what goes wrong in a task is part of its result.
        """
        ...


def workers_with(shared: Any, n_jobs: int | None) -> Workers:
    """The Dask cluster of `joblib.parallel_config`, or whatever else joblib runs on."""
    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)
    return Processes(shared, n_jobs) if client is None else DaskCluster(client, shared)


class Processes:
    """By joblib, which cannot say whose worker died: so it is said of all tasks that were handed out."""

    def __init__(self, shared: Any, n_jobs: int | None) -> None:
        self.shared, self.n_jobs = shared, n_jobs

    def results(self, run: Run, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result."""
        left = dict(enumerate(tasks))
        while left:
            handed_out: set[int] = set()
            calls = self._calls(run, list(left.items()), handed_out)
            try:
                for i, result in Parallel(n_jobs=self.n_jobs, batch_size=1, return_as="generator_unordered")(calls):
                    yield left.pop(i), result
            except BrokenExecutor as error:
                for i in sorted(handed_out & left.keys()):
                    yield left.pop(i), Died(_in_one_line(error))

    def _calls(self, run: Run, numbered: list[tuple[int, Task]], handed_out: set[int]) -> Iterator[Any]:
        for i, task in numbered:
            handed_out.add(i)
            yield delayed(_numbered)(run, self.shared, i, task)


class DaskCluster:
    """By Dask itself: joblib 1.6 waits for ever for a task that Dask has given up, as it kills its workers."""

    def __init__(self, client: Any, shared: Any) -> None:
        self.client, self.shared = client, shared
        self._scattered: Any = None

    def results(self, run: Run, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result."""
        left = dict(enumerate(tasks))
        while left:
            before, sent_before = len(left), self._scattered is not None
            for i, found in self._round(run, left):
                yield left.pop(i), found
            if left:
                self._scattered = None  # all workers that held it died, and these tasks were cancelled
            if len(left) == before and not sent_before:
                yield from ((left.pop(i), Died("All workers of the Dask cluster died.")) for i in list(left))

    def _round(self, run: Run, tasks: Mapping[int, Task]) -> Iterator[tuple[int, Any]]:
        from distributed import KilledWorker, as_completed

        if self._scattered is None:
            self._wait_for_workers()
            self._scattered = self.client.scatter(self.shared, broadcast=True, hash=False)
        calls = ((run, self._scattered, i, task) for i, task in tasks.items())
        futures = [self.client.submit(_numbered, *call, pure=False) for call in calls]
        number = {future.key: i for future, i in zip(futures, tasks, strict=True)}
        try:
            for future in as_completed(futures):  # type: ignore[no-untyped-call]
                try:
                    yield future.result()
                except KilledWorker as error:
                    yield number[future.key], Died(_in_one_line(error))
                except CancelledError:
                    continue
        finally:
            self.client.cancel(futures)

    def _wait_for_workers(self) -> None:
        try:
            self.client.submit(int, pure=False).result(timeout=PATIENCE)  # a task makes adaptive clusters grow
        except TimeoutError as error:
            raise TimeoutError(
                f"The Dask cluster has had no worker for {PATIENCE} seconds. Start some; what is done is in the "
                "store, if one was given, and the same call continues there."
            ) from error


def _numbered(run: Run, shared: Any, number: int, task: Task) -> tuple[int, Any]:
    # one thread, as sums of another order differ in their last digits: the number of workers must not change a result
    with threadpool_limits(1):
        return number, run(shared, *task)


def _in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
