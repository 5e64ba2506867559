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
        self.pending: list[int] = []

    def on_start(self, event: Any) -> None:
        """Hold signals back. Other threads never run handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self.depth == 0:
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler) and handler != self._note:
                    self.handlers[number] = handler
                    signal.signal(number, self._note)
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Restore the handlers, then raise the first signal that arrived."""
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth -= 1
        if self.depth > 0:
            return
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        self.handlers.clear()
        pending, self.pending = self.pending, []
        for number in pending[:1]:
            signal.raise_signal(number)

    def _note(self, number: int, frame: Any) -> None:
        self.pending.append(number)


event.register("numba:compiler_lock", _HoldSignals())  # type: ignore[no-untyped-call]
