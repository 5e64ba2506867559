"""Threads: one for many small matrices, two for a large product."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Thread
from typing import ParamSpec, TypeVar, cast

from threadpoolctl import threadpool_limits

P = ParamSpec("P")
Answer = TypeVar("Answer")
Part = TypeVar("Part")
HEARD = 0.2  # seconds after which a signal is noticed at the latest


def one_blas_thread(function: Callable[P, Answer]) -> Callable[P, Answer]:
    """Run a function with one BLAS thread, which costs a few milliseconds per call.

    On matrices with a few dozen rows, threads wait for each other far longer than they compute.
    """
    return cast(Callable[P, Answer], threadpool_limits.wrap(limits=1, user_api="blas")(function))


def side_by_side(work: Callable[[Part], None], parts: Sequence[Part]) -> None:
    """Run `work` on every part, in parallel if there are several cores.

    Worth its 0.1 ms for work that is nearly all inside BLAS, where the GIL is released. The caller chooses the parts,
    so the number of cores does not change the result.

    >>> done = [0, 0]
    >>> side_by_side(lambda i: done.__setitem__(i, i + 1), [0, 1])
    >>> done
    [1, 2]
    """
    n = min(len(parts), allowed())
    if n < 2:
        for part in parts:
            work(part)
        return
    contexts = [copy_context() for _ in parts]  # they hold numpy's errstate
    with ThreadPoolExecutor(n) as pool:
        list(pool.map(lambda context, part: context.run(work, part), contexts, parts))


def in_background(work: Callable[[], Answer]) -> Answer:
    """Run `work` in a thread and wait for it, so that Ctrl-C works during C code that releases the GIL.

    After Ctrl-C, the work continues in the background until it or the process ends.

    >>> in_background(lambda: 2)
    2
    """
    done: Future[Answer] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    while not wait([done], timeout=HEARD).done:  # a signal that comes just before a wait does not end that wait
        pass
    return done.result()


def allowed() -> int:
    """Number of cores that this process may use, at most OMP_NUM_THREADS, which joblib sets for parallel processes."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(int(asked), cores)) if asked.isdigit() else cores
