"""numba, with Ctrl-C held back while it compiles a function or loads one from its cache.

LLVM calls back into Python, where a KeyboardInterrupt is printed and dropped. The function that was being loaded then
has no code, and using it ends the process with a segmentation fault. Modules import numba from here.
"""

import signal
import threading
from typing import Any

import numba as numba
from numba.core import event


class _HoldSignals(event.Listener):
    """Notes SIGINT and SIGTERM while numba's compiler lock is held in the main thread, and raises them afterwards."""

    def __init__(self) -> None:
        self.depth = 0  # the lock is reentrant
        self.handlers: dict[int, Any] = {}
        self.came: list[int] = []

    def on_start(self, event: Any) -> None:
        """Hold signals back. Other threads never run handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth += 1
        for number in (signal.SIGINT, signal.SIGTERM) if self.depth == 1 else ():
            if callable(signal.getsignal(number)):
                self.handlers[number] = signal.signal(number, self._note)

    def on_end(self, event: Any) -> None:
        """Raise those that came."""
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth -= 1
        if self.depth > 0:
            return
        came, self.came = self.came, []
        while self.handlers:
            signal.signal(*self.handlers.popitem())
        for number in came[:1]:
            signal.raise_signal(number)

    def _note(self, number: int, frame: Any) -> None:
        self.came.append(number)


event.register("numba:compiler_lock", _HoldSignals())  # type: ignore[no-untyped-call]
