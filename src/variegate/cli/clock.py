"""Time a command and its steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import click

from .messages import say
from .signals import check_interrupt


def _started() -> float:
    """Return when the running command started, before it imported anything."""
    context = click.get_current_context(silent=True)
    started = None if context is None else context.find_object(float)
    return time.perf_counter() if started is None else started


@dataclass
class Clock:
    """Seconds for each step, and since the command started."""

    quiet: bool
    started: float = field(default_factory=_started)
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
