"""Run jobs in processes or on a Dask cluster, and keep results as lines of JSON, so that a killed run can continue."""

import json
import os
import signal
import threading
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from ..estimators import ProgressLine, clock

PATIENCE = 120  # seconds that a cluster may have no worker

Job = tuple[Any, ...]
Results = dict[str, Any]  # by key; what JSON can hold


class StoreError(ValueError):
    """The file cannot be used for this call.

    >>> issubclass(StoreError, ValueError)
    True
    """


def run_jobs(
    run: Callable[..., Results],
    shared: Any,
    left: Callable[[Results], Sequence[Job]],
    *,
    store: str | Path | None = None,
    call: Callable[[], Mapping[str, Any]] = dict,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Results:
    """Run jobs, write the results of each when it is done, and return all results, those of earlier runs included.

    run : run(shared, *job) returns results by key; a failure that should not end the run is part of its result
    left : the jobs to run, given the results of earlier runs
    call : what the results depend on; a store of another call is refused
    """
    results = {} if store is None else _begin(Path(store), json.loads(json.dumps(call())))
    jobs = left(results)
    with ProgressLine() if progress and jobs else nullcontext() as line, _begun(run, shared, jobs, n_jobs) as arriving:
        for done, found in enumerate(arriving, 1):
            if store is not None:
                _append(Path(store), "results", found)
            results |= found
            if line is not None:
                rest = clock(line.elapsed / done * (len(jobs) - done))
                line.show(f"variegate: {done} of {len(jobs)} done in {clock(line.elapsed)}, {rest} left")
    return results


def caught(key: str, compute: Callable[[], Mapping[str, Any]]) -> Results:
    """Return what is computed under a key, or the error that it raised."""
    try:
        return {key: {**compute(), "error": None}}
    except Exception:
        return {key: {"error": traceback.format_exc().strip()}}


def is_done(results: Results, key: str) -> bool:
    """Whether there is a result that is not a failure."""
    return key in results and results[key]["error"] is None


# --- the store ----------------------------------------------------------------------------------------------------


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"store {path} cannot be used ({error.strerror}); it must be a file in an existing folder, with room to "
            "write. Results in it are safe: the same call continues there."
        ) from error


def _begin(path: Path, call: Mapping[str, Any]) -> Results:
    """Return the results in a store, or begin it; a last line that was cut, as by a kill, is removed."""
    with _usable(path):
        content = path.read_bytes() if path.exists() else b""
        end = content.rfind(b"\n") + 1
        lines = [_checked(path, number, line) for number, line in enumerate(content[:end].splitlines(), 1)]
        if not lines and content:
            raise StoreError(f"store {path} must be a file of an earlier run, got another; give another path.")
        for line in lines:
            _check_call(path, line.get("call", call), call)
        if end < len(content):
            os.truncate(path, end)
    if not lines:
        _append(path, "call", call)
    return {key: result for line in lines for key, result in line.get("results", {}).items()}


def _checked(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """Return one line as it was written."""
    try:
        found = json.loads(line)
        ((kind, content),) = ((name, part) for name, part in found.items() if name != "crc32")
        if (kind == "call" or (kind == "results" and number > 1)) and found["crc32"] == _checksum(content):
            return dict(found)
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    what = "is damaged" if number > 1 else "must be a file of an earlier run, got another or a damaged one"
    raise StoreError(f"store {path} {what} (line {number}); nothing in it was changed; give another path.")


def _check_call(path: Path, theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    if differ := sorted(name for name in mine.keys() | theirs if mine.get(name) != theirs.get(name)):
        what = "; ".join(f"{name}: {theirs.get(name)} there, {mine.get(name)} here" for name in differ)
        raise StoreError(
            f"store {path} belongs to another call ({what}). Give another path, or repeat that call exactly."
        )


def _append(path: Path, kind: str, content: Mapping[str, Any]) -> None:
    line = json.dumps({"crc32": _checksum(content), kind: content}) + "\n"
    with _usable(path), open(path, "ab") as file:
        file.write(line.encode())


def _checksum(content: Any) -> int:
    return zlib.crc32(json.dumps(content).encode())


# --- workers ------------------------------------------------------------------------------------------------------


@contextmanager
def _begun(run: Callable[..., Results], shared: Any, jobs: Sequence[Job], n_jobs: int | None) -> Iterator[Any]:
    """Yield the results in the order of completion, from processes or the Dask cluster of `joblib.parallel_config`."""
    client = getattr(get_active_backend()[0], "client", None)
    if client is None:
        calls = (delayed(_in_process)(os.getpid(), run, shared, job) for job in jobs)
        with _deaf_children():
            found = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")(calls)
    else:
        found = _on_cluster(client, run, shared, jobs)
    try:
        yield found
    except BrokenExecutor as error:
        raise RuntimeError(
            f"A worker process died ({' '.join(str(error).split())}). If memory ran out, use fewer workers; with a "
            "store, the same call continues where it stopped."
        ) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jobs are cancelled on purpose
            found.close()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Block Ctrl-C, which a terminal sends to all processes, in those started here; ours arrives afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # else the first process starts it, and Python 3.11 then unblocks all signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_process(parent: int, run: Callable[..., Results], shared: Any, job: Job) -> Results:
    if os.getpid() != parent:
        _end_with(parent)
    return _alone(run, shared, job)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent, even if that is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _alone(run: Callable[..., Results], shared: Any, job: Job) -> Results:
    with threadpool_limits(1):  # one thread, so that sums have the same order whatever the number of workers
        return run(shared, *job)


def _on_cluster(client: Any, run: Callable[..., Results], shared: Any, jobs: Sequence[Job]) -> Generator[Results]:
    """Run jobs with Dask itself: joblib 1.6 waits forever for a job that Dask gave up because it kills workers."""
    from distributed import KilledWorker, as_completed
    from distributed.protocol.pickle import dumps, loads

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise TimeoutError(f"The Dask cluster has had no worker for {PATIENCE} seconds; start some.") from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # the table is sent once, as a job that unpacks it
        sent = client.submit(loads, dumps(shared), pure=False)  # type: ignore[no-untyped-call]
    futures = client.map(_alone, [run] * len(jobs), [sent] * len(jobs), jobs, pure=False)
    try:
        for _, found in as_completed(futures, with_results=True):  # type: ignore[no-untyped-call]
            yield found
    except KilledWorker as error:
        raise BrokenExecutor(str(error)) from error
    finally:
        client.cancel(futures)
