"""Coordinates of the charts; the template draws them as SVG."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..design import Design
from ..groups import Group
from ..likelihoods import table
from ..selection import Selection
from ..types import FloatArray
from .content import Row

SEEN = 0.005  # less probable features are not drawn
COLOURS = 8  # of groups; then they repeat
ALONE = 9  # the colour of features that are a group by themselves


class Interval(NamedTuple):
    """A mean with its interval and the zero line, in drawing units from 0 to 100."""

    zero: float
    lower: float
    mean: float
    upper: float


def column_spreads(found: Selection) -> dict[int, float]:
    """Return the standard deviation of each column of X that the model used."""
    data, candidates = found.training, found.candidates
    spreads = dict(zip(candidates.columns.tolist(), data.design.scale.tolist(), strict=True))
    if data.covariates is not None:
        scale = Design.of(table(data.covariates), data.row_weights).scale
        spreads |= zip(candidates.always.tolist(), scale.tolist(), strict=True)
    return spreads


def intervals(rows: Sequence[Row], spreads: Mapping[int, float]) -> list[Interval | None]:
    """Place the effects of one standard deviation of each feature on a common scale; None if not finite."""
    scaled = [np.array([row.lower, row.coefficient, row.upper]) * spreads.get(row.column, np.nan) for row in rows]
    finite = [values for values in scaled if np.isfinite(values).all()]
    low = min([0.0, *(float(v.min()) for v in finite)])
    high = max([0.0, *(float(v.max()) for v in finite)])
    if high - low <= 0:
        return [None] * len(rows)

    def place(value: float) -> float:
        return round(4 + 92 * (value - low) / (high - low), 1)

    return [Interval(place(0.0), *map(place, v.tolist())) if np.isfinite(v).all() else None for v in scaled]


class Point(NamedTuple):
    """A feature in the chart of all probabilities; `group` is its colour, 0 for none."""

    x: float
    y: float
    group: int
    title: str


class Along(NamedTuple):
    """Probabilities along the columns, in a frame of `width` × `height`."""

    points: list[Point]
    ticks: list[tuple[float, str]]
    width: float
    height: float
    left: float


def along_columns(p: FloatArray, groups: Sequence[Group], labels: NDArray[Any]) -> Along:
    """Place every feature by its position among the columns and its probability, coloured by group.

    Features below SEEN that are not in a group are left out: there may be a million of them.
    """
    width, height, left = 900.0, 220.0, 40.0
    member = np.zeros(len(p), dtype=int)
    for number, group in enumerate((g for g in groups if len(g.positions) > 1), start=1):
        member[group.positions] = 1 + (number - 1) % COLOURS
    for group in groups:
        if len(group.positions) == 1:
            member[group.positions] = ALONE
    shown = np.flatnonzero((p >= SEEN) | (member > 0))
    span = max(len(p) - 1, 1)

    def place(value: float) -> float:
        return round(10 + (height - 30) * (1 - value), 1)

    points = [
        Point(round(left + 8 + (width - left - 16) * i / span, 1), place(float(p[i])), int(member[i]), str(labels[i]))
        for i in shown[np.argsort(p[shown], kind="stable")]
    ]
    return Along(points, [(place(t), f"{t:g}") for t in (0, 0.25, 0.5, 0.75, 1)], width, height, left)


MEANINGS = {
    "AUC": ("Telling the classes apart (AUC)", "0.5 is guessing, 1 is perfect."),
    "concordance": (
        "Predicting who has the event earlier (concordance)",
        "0.5 is guessing, 1 is perfect.",
    ),
    "D2": ("Predicting the count (D²)", "The share of the deviance that is explained: 0 is none, 1 is all."),
    "R2": ("Predicting the outcome (R²)", "The share of the variation that is explained: 0 is none, 1 is all."),
    "log det": (
        "Diversity of the set (log det)",
        "0: the chosen features are unrelated; the lower, the more they repeat each other.",
    ),
}


class DotRow(NamedTuple):
    """A method's values on the scale of a chart."""

    method: str
    y: float
    points: list[float]
    mean: float | None
    text: str


class DotChart(NamedTuple):
    """One metric of a comparison: the values of every method, one line each, in a frame of `width` × `height`."""

    title: str
    meaning: str
    rows: list[DotRow]
    ticks: list[tuple[float, str]]
    lost: int  # infinite values, left out
    width: float
    height: float
    left: float


def dot_charts(comparison: pd.DataFrame | None) -> list[DotChart]:
    """Return charts of accuracy and diversity of the compared methods, in the order of MEANINGS."""
    if comparison is None or not len(comparison):
        return []
    missing = {"repeat", "method", "metric", "value"} - set(comparison.columns)
    if missing:
        raise ValueError(
            f"comparison must have the columns repeat, method, metric and value, got a table without "
            f"{', '.join(sorted(missing))}; pass compare(...).table."
        )
    parts = {name: comparison[comparison["metric"] == name] for name in MEANINGS}
    return [_dot_chart(rows, *MEANINGS[name]) for name, rows in parts.items() if len(rows)]


def _dot_chart(table: pd.DataFrame, title: str, meaning: str) -> DotChart:
    width, left, line = 700.0, 150.0, 30.0
    table = table.assign(value=table["value"].astype(np.float64))
    finite = {str(name): v[np.isfinite(v)].to_numpy() for name, v in table.groupby("method", sort=False)["value"]}
    every = np.concatenate(list(finite.values())).tolist()
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    marks = ticks(low, high)
    low, high = min(low, marks[0]), max(high, marks[-1])

    def place(value: float) -> float:
        return round(left + 14 + (width - left - 150) * (value - low) / ((high - low) or 1.0), 1)

    rows = [
        DotRow(
            method=name,
            y=16 + i * line,
            points=[place(value) for value in some.tolist()],
            mean=place(float(some.mean())) if len(some) else None,
            text=_mean_and_deviation(some),
        )
        for i, (name, some) in enumerate(finite.items())
    ]
    height = 16 + line * len(rows) + 20
    along = [(place(t), signed(f"{t:g}")) for t in marks]
    return DotChart(title, meaning, rows, along, len(table) - len(every), width, height, left)


def _mean_and_deviation(values: FloatArray) -> str:
    if not len(values):
        return "–"
    return signed(f"{values.mean():.3g}") + (f" ± {values.std(ddof=1):.2g}" if len(values) > 1 else "")


def signed(digits: str) -> str:
    """Replace the hyphen by a minus sign, as everywhere on the page."""
    return digits.replace("-", "−")


def ticks(low: float, high: float, n: int = 4) -> list[float]:
    """Return about n round numbers from at most `low` to at least `high`.

    >>> ticks(0.42, 0.98)
    [0.4, 0.6, 0.8, 1.0]
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** np.floor(np.log10(span / n))
    step = min((power * m for m in (1, 2, 5, 10)), key=lambda s: abs(span / s - n))
    first, last = np.floor(low / step), np.ceil(high / step)
    return [float(f"{i * step:.10g}") for i in np.arange(first, last + 1)]
