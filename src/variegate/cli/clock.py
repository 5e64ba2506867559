"""Time a command from the moment its process started."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from .messages import say
from .signals import check_interrupt


def process_started() -> float:
    """Return the start time of this process on the scale of `time.perf_counter`, or now if it is unknown."""
    now = time.perf_counter()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - max(age, 0.0)


def command_started() -> float:
    """Return the start time of the running command."""
    context = click.get_current_context(silent=True)
    started = None if context is None else context.find_object(float)
    return time.perf_counter() if started is None else started


@dataclass
class Clock:
    """Seconds for each step, and since the command started."""

    quiet: bool
    started: float = field(default_factory=command_started)
    steps: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, told: str = "") -> Iterator[None]:
        """Announce a step, and record how long it takes."""
        if told:
            say(told, self.quiet)
        before = time.perf_counter()
        yield
        check_interrupt()
        self.steps[name] = round(time.perf_counter() - before, 3)

    @property
    def seconds(self) -> float:
        """Seconds since the command started."""
        return round(time.perf_counter() - self.started, 3)
