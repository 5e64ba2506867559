"""Run jobs in processes or on a Dask cluster; each returns a result, or a note that its worker died."""

import multiprocessing
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, NamedTuple, Protocol

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

ENDING = 10  # seconds to wait for a killed process
PATIENCE = 120  # seconds that a cluster may have no worker

Job = tuple[Any, ...]
Run = Callable[..., Any]


class Died(NamedTuple):
    """In place of a result: the worker with this job, and perhaps others, died."""

    error: str


class Workers(Protocol):
    """Runs jobs; what all jobs share is sent once."""

    def results(self, run: Run, jobs: Sequence[Job]) -> Iterator[tuple[Job, Any]]:
        """Yield each job with run(shared, *job), or with `Died`, in the order of completion.

        `run` must not raise: what goes wrong in a job is part of its result.
        """
        ...


def workers_with(shared: Any, n_jobs: int | None) -> Workers:
    """Return the Dask cluster of `joblib.parallel_config`, or processes run by joblib."""
    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)
    return Processes(shared, n_jobs) if client is None else DaskCluster(client, shared)


class Processes:
    """Runs jobs with joblib, which cannot say whose worker died, so all jobs handed out count as dead."""

    def __init__(self, shared: Any, n_jobs: int | None) -> None:
        self.shared, self.n_jobs = shared, n_jobs

    def results(self, run: Run, jobs: Sequence[Job]) -> Iterator[tuple[Job, Any]]:
        """Yield each job with its result."""
        left = dict(enumerate(jobs))
        while left:
            handed_out: set[int] = set()
            calls = self._calls(run, list(left.items()), handed_out)
            with _deaf_children():
                found = Parallel(n_jobs=self.n_jobs, batch_size=1, return_as="generator_unordered")(calls)
            try:
                for i, result in found:
                    yield left.pop(i), result
            except BrokenExecutor as error:
                for i in sorted(handed_out & left.keys()):
                    yield left.pop(i), Died(_in_one_line(error))
            except BaseException:  # Ctrl-C, or the generator was closed
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # tasks are cancelled on purpose
                    found.close()
                end_processes()
                raise

    def _calls(self, run: Run, numbered: list[tuple[int, Job]], handed_out: set[int]) -> Iterator[Any]:
        for i, job in numbered:
            handed_out.add(i)
            yield delayed(_numbered)(run, self.shared, i, job)


class DaskCluster:
    """Runs jobs with Dask directly: joblib 1.6 waits forever for a job that Dask gave up because it kills workers."""

    def __init__(self, client: Any, shared: Any) -> None:
        self.client, self.shared = client, shared
        self._sent: Any = None

    def results(self, run: Run, jobs: Sequence[Job]) -> Iterator[tuple[Job, Any]]:
        """Yield each job with its result."""
        from distributed import KilledWorker

        if self._sent is None or self._sent.status in ("error", "cancelled"):
            self._sent = self._send()
        numbers = range(len(jobs))
        futures = self.client.map(_numbered, [run] * len(jobs), [self._sent] * len(jobs), numbers, jobs, pure=False)
        number = {future.key: i for i, future in enumerate(futures)}
        try:
            for future in self._as_completed(futures):
                try:
                    i, found = future.result()
                except (KilledWorker, CancelledError) as error:  # cancelled if the cluster was restarted
                    i, found = number[future.key], Died(_in_one_line(error))
                yield jobs[i], found
        finally:
            self.client.cancel(futures)

    def _send(self) -> Any:
        """Send the data as a job that unpacks them, since Dask recomputes a lost result by itself.

        Scattered data would be lost with their workers, and the jobs cancelled. Broadcasting them again can take
        forever: Dask 2026.8 keeps calling a worker that dies in the middle of it, though another has replaced it.
        """
        from distributed.protocol.pickle import dumps, loads

        packed = dumps(self.shared)  # type: ignore[no-untyped-call]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a single job holds them, as the warning advises
            return self.client.submit(loads, packed, pure=False)

    def _as_completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        from distributed import as_completed

        left = dict.fromkeys(futures)
        while left:
            try:
                for future in as_completed(list(left), timeout=PATIENCE):  # type: ignore[no-untyped-call]
                    del left[future]
                    yield future
            except TimeoutError:
                self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise TimeoutError(
                f"The Dask cluster has had no worker for {PATIENCE} seconds; start some. With a store, the same call "
                "continues where it stopped."
            ) from error


def end_processes() -> None:
    """Kill joblib's processes and wait for them to end: they would outlive this one and stay busy."""
    ours = [child for child in multiprocessing.active_children() if ".loky." in type(child).__module__]
    for child in ours:
        child.kill()
    for child in ours:
        child.join(ENDING)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Block Ctrl-C, which a terminal sends to all processes, in those started here; ours arrives afterwards.

    `end_processes` kills them without a traceback; a handler of their own would come too late for those that are still
    importing.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # else the first process starts it, and Python 3.11 then unblocks all signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(run: Run, shared: Any, number: int, job: Job) -> tuple[int, Any]:
    # one thread, so that sums have the same order whatever the number of workers
    with threadpool_limits(1):
        return number, run(shared, *job)


def _in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
