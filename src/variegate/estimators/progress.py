"""A progress line on stderr."""

import shutil
import sys
import time
from types import TracebackType
from typing import Self, TextIO

from ..inference import Progress

EVERY = 0.1  # seconds between redraws
STEADY = 5.0  # seconds between lines without a terminal


class ProgressLine:
    """Redraws one line on a terminal, or writes one now and then elsewhere; as a callback it reports on a fit."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.started = self.shown = time.monotonic()
        self.redraws = self.stream.isatty()
        self.line = self.written = ""

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def __call__(self, progress: Progress) -> None:
        """Show the state of the fit."""
        self.show(
            f"variegate: {progress.laps} laps, probabilities known to ±{progress.error:.3f}, "
            f"{progress.expected_size:.1f} features, {self.elapsed:.0f} s"
        )

    def show(self, line: str) -> None:
        """Show a line, unless one was shown a moment ago."""
        self.line, now = line, time.monotonic()
        if now - self.shown >= (EVERY if self.redraws else STEADY):
            self.shown = now
            self._write("" if self.redraws else "\n")

    def _write(self, end: str) -> None:
        # a line that wraps would be repeated, not redrawn
        shown = self.line[: shutil.get_terminal_size().columns - 1] if self.redraws else self.line
        self.stream.write(f"\r\x1b[K{shown}{end}" if self.redraws else f"{shown}{end}")
        self.stream.flush()
        self.written = self.line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.line and (self.redraws or self.line != self.written):  # leave the last state on the screen
            self._write("\n")


def clock(seconds: float) -> str:
    """Format hours, minutes and seconds.

    >>> clock(75), clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
