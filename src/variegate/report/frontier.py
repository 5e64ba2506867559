"""A figure of what diversity costs: points to pick, each with its set."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..comparison import OURS, Frontier
from .charts import signed, ticks

WIDTH, HEIGHT, LEFT, BOTTOM = 700.0, 340.0, 60.0, 40.0


class Mark(NamedTuple):
    """A point of the figure, and its text; x is None if copies in the set make log det infinite."""

    number: int
    x: float | None
    y: float
    ours: bool
    recommended: bool
    method: str
    size: int
    diversity: str
    accuracy: str
    log_det: str
    features: tuple[str, ...]


class FrontierChart(NamedTuple):
    """Accuracy (up) against diversity (right); `paths` join the sets of one size in order of diversity."""

    marks: list[Mark]
    paths: list[tuple[int, str]]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    metric: str
    sentence: str
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT

    @property
    def picked(self) -> Mark:
        """The recommended point, which is picked first."""
        return next(mark for mark in self.marks if mark.recommended)

    @property
    def ends(self) -> list[tuple[int, Mark]]:
        """The leftmost of our points of each size, where the size is written."""
        drawn = [mark for mark in self.marks if mark.ours and mark.x is not None]
        return [(size, min((m for m in drawn if m.size == size), key=lambda m: m.x or 0.0)) for size, _ in self.paths]

    @property
    def lost(self) -> int:
        """Number of points that cannot be drawn."""
        return sum(mark.x is None for mark in self.marks)


def frontier_chart(found: Frontier) -> FrontierChart:
    """Return the figure of a frontier, in drawing units."""
    points = found.points
    finite = points["log det"][np.isfinite(points["log det"])]
    across, up = ticks(finite.min(), finite.max()), ticks(points["accuracy"].min(), points["accuracy"].max())

    def x(value: float) -> float:
        return round(LEFT + 20 + (WIDTH - LEFT - 40) * (value - across[0]) / ((across[-1] - across[0]) or 1.0), 1)

    def y(value: float) -> float:
        return round(12 + (HEIGHT - BOTTOM - 24) * (1 - (value - up[0]) / ((up[-1] - up[0]) or 1.0)), 1)

    best = found.recommended().name
    marks = [
        Mark(
            number,
            x(row["log det"]) if np.isfinite(row["log det"]) else None,
            y(row["accuracy"]),
            row["method"] == OURS,
            number == best,
            row["method"],
            int(row["size"]),
            "–" if pd.isna(row["diversity"]) else f"{row['diversity']:g}",
            f"{row['accuracy']:.3f} ± {row['error']:.2g}",
            signed(f"{row['log det']:.2f}") if np.isfinite(row["log det"]) else "−∞",
            tuple(map(str, row["names"])),
        )
        for number, row in points.iterrows()
    ]
    sizes = sorted({mark.size for mark in marks if mark.ours})
    paths = [
        (size, " ".join(f"{m.x},{m.y}" for m in marks if m.ours and m.size == size and m.x is not None))
        for size in sizes
        if any(m.x is not None for m in marks if m.ours and m.size == size)
    ]
    return FrontierChart(
        marks,
        paths,
        [(x(t), signed(f"{t:g}")) for t in across],
        [(y(t), signed(f"{t:g}")) for t in up],
        found.metric,
        signed(found.sentence()),
    )
