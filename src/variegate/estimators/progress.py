"""A line on stderr that tells how the fit goes."""

import sys
import time
from types import TracebackType
from typing import Self, TextIO

from ..inference import Progress

EVERY = 0.1  # seconds between redraws
STEADY = 5.0  # seconds between lines where there is no terminal to redraw


class ProgressLine:
    """Callback of a fit: redraws one line on a terminal, writes one now and then elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.started = self.shown = time.monotonic()
        self.redraws = self.stream.isatty()
        self.line = ""

    def __call__(self, progress: Progress) -> None:
        """Show where the fit is."""
        now = time.monotonic()
        self.line = (
            f"variegate: {progress.stage}, iteration {progress.iteration}, ELBO {progress.elbo:.2f}, "
            f"{progress.expected_size:.1f} features, {now - self.started:.0f} s"
        )
        if now - self.shown < (EVERY if self.redraws else STEADY):
            return
        self.shown = now
        self.stream.write(f"\r\x1b[K{self.line}" if self.redraws else f"{self.line}\n")
        self.stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.line:  # the last word stays on the screen
            self.stream.write(f"\r\x1b[K{self.line}\n" if self.redraws else f"{self.line}\n")
            self.stream.flush()
