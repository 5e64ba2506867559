"""Handle SIGTERM like Ctrl-C, so that no partial output is left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Python prints and drops a KeyboardInterrupt raised in a C callback or a destructor, so the request is recorded here
# and checked between steps.
_asked = threading.Event()


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM."""
    _asked.clear()
    if threading.current_thread() is not threading.main_thread():  # Python allows handlers only there
        yield
        return
    previous = {number: signal.signal(number, _ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            if handler is not None:  # None: it was not set from Python
                signal.signal(number, handler)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if an earlier one was lost."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _ask(number: int, frame: Any) -> None:
    _asked.set()
    raise KeyboardInterrupt
