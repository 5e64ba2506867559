"""A progress bar for long runs, with the time left."""

from types import TracebackType
from typing import Self, TextIO

from ..estimators import ProgressLine, clock

WIDTH = 24


class ProgressBar:
    """Counts jobs on stderr: a bar on a terminal, a line now and then elsewhere; silent without jobs."""

    def __init__(self, total: int, shown: bool = True, stream: TextIO | None = None) -> None:
        self.total, self.done = total, 0
        self.line = ProgressLine(stream) if shown and total else None

    def advance(self) -> None:
        """Count one more job as done."""
        self.done += 1
        if self.line is not None:
            left = self.line.elapsed / self.done * (self.total - self.done)
            filled = "█" * (WIDTH * self.done // self.total)
            bar = f" {filled:░<{WIDTH}}" if self.line.redraws else ""
            self.line.show(
                f"variegate:{bar} {self.done} of {self.total} done in {clock(self.line.elapsed)}, {clock(left)} left"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.line is not None:
            self.line.__exit__(kind, value, trace)
