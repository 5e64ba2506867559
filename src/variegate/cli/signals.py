"""Ctrl-C and SIGTERM end a command in the same way, so that nothing half-written stays."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# A KeyboardInterrupt that is raised in a callback of C code, or while an object is deleted, is printed and lost:
# what has been asked for is remembered, and looked at between steps.
_asked = threading.Event()


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM."""
    _asked.clear()
    if threading.current_thread() is not threading.main_thread():  # where Python takes no handlers
        yield
        return
    previous = {number: signal.signal(number, _ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            if handler is not None:  # one that was not set from Python
                signal.signal(number, handler)


def check_interrupt() -> None:
    """Raise the KeyboardInterrupt that got lost, if one did."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _ask(number: int, frame: Any) -> None:
    _asked.set()
    raise KeyboardInterrupt
