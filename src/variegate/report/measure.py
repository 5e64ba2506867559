"""What to measure: the members of the panel, what is lost without each, and how many would be enough."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..panels import Panel
from ..selection import Selection
from ..tables import Findings, enough_in_words
from .charts import Interval, column_spreads, intervals, signed, ticks
from .content import Row
from .summary import listed

WIDTH, HEIGHT, LEFT, BOTTOM = 700.0, 230.0, 50.0, 34.0
NEARLY = 0.001  # less is lost of nearly all
SIZES = 12  # of a curve, up to which each has a tick


class Measured(NamedTuple):
    """A member of the panel, or what is measured in any case."""

    lines: list[tuple[Row, Interval | None]]  # of each column, in the rule
    lost_without: str
    stand_in: str | None
    lost_with: str
    panels: int  # equally good ones that have it


class Curve(NamedTuple):
    """What is lost (up) by size (right) with limits, in a frame of `width` × `height`; the panel is a mark."""

    line: str
    limits: str
    points: list[tuple[float, float, str]]
    mark: tuple[float, float, str]
    enough: float | None
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT


def percent(share: float) -> str:
    """Format a share of what the model predicts.

    >>> percent(0.0312), percent(0.0), percent(-0.002)
    ('3.1 %', '0 %', '−0.2 %')
    """
    text = f"{100 * share:.1f}"
    return "0 %" if text in ("0.0", "-0.0") else f"{signed(text)} %"


def measured(selection: Selection, found: Findings) -> dict[str, Any]:
    """Return what the section on the panel shows."""
    panel = selection.chosen_panel
    rows = rule_rows(selection, panel)
    lines = list(zip(rows, intervals(rows, column_spreads(selection)), strict=True))
    family = [one.features for one in panel.family()]
    always = [line for line in lines if line[0].role == "always included"]
    summary = panel.among.summary(panel.features)
    return {
        "members": [_member(selection, found.stand_ins, u, lines, family) for u in panel.features],
        "beside": [Measured([line], "", None, "", 0) for line in always],
        "n_panels": len(family),
        "lost": percent(summary["lost"]),
        "limits": f"{percent(summary['lost_low'])} to {percent(summary['lost_high'])}",
        "log_det": None if np.isnan(summary["log_det"]) else signed(f"{round(summary['log_det'], 2) + 0.0:.2f}"),
        "enough": enough_in_words(len(panel.features), found.enough, int(found.curve["size"].max())),
        "curve": curve(found.curve, len(panel.features), found.enough),
    }


def sentences(selection: Selection) -> list[str]:
    """Say in a sentence what to measure, if anything."""
    panel = selection.chosen_panel
    if not panel.members:
        return []
    rule = "a rule on it alone" if len(panel.members) == 1 else "a rule on these alone"
    kept = "nearly all" if panel.lost < NEARLY else percent(1 - panel.lost)
    return [f"Measure {listed(panel.members)}: {rule} keeps {kept} of what the model predicts."]


def rule_rows(selection: Selection, panel: Panel) -> list[Row]:
    """Return the columns of the rule; of several classes each has the one for which its effect is largest."""
    rule, classes = panel.rule, selection.classes
    shape = (len(rule.coef), 1 + len(rule.columns))
    mean, low, high = (
        panel.coefficients[of].to_numpy().reshape(shape)[:, 1:] for of in ("coefficient", "low", "high")
    )
    largest = np.abs(mean).argmax(axis=0)
    label = [None] * len(largest) if len(mean) == 1 or classes is None else [str(classes[k]) for k in largest]
    always = np.isin(rule.columns, selection.candidates.always)
    return [
        Row(
            int(column), str(selection.column_names[column]), None, np.nan, mean[k, i], low[k, i], high[k, i],
            label[i], "always included" if always[i] else "chosen",
        )
        for i, (column, k) in enumerate(zip(rule.columns, largest, strict=True))
    ]  # fmt: skip


def _member(selection: Selection, stand_ins: pd.DataFrame, u: int, lines: list[Any], family: list[Any]) -> Measured:
    columns = selection.candidates.columns[selection.candidates.unit == u]
    own = stand_ins[stand_ins["member"] == str(selection.posterior.labels[u])]
    best, alone = own.iloc[0], bool(own["stand_in"].isna().all())
    panel = selection.chosen_panel
    without = panel.among.lost(panel.features[panel.features != u]) - panel.lost
    return Measured(
        [line for line in lines if line[0].column in columns],
        percent(without),
        None if alone else str(best["stand_in"]),
        "" if alone else percent(best["lost_with"]),
        sum(bool(np.isin(u, S)) for S in family),
    )


def curve(table: pd.DataFrame, size: int, enough: int | None) -> Curve:
    """Place the curve of a panel, of which the panel of this size is one point."""
    shown = table.set_index("size")[["lost", "lost_low", "lost_high"]]
    sizes, high = shown.index.to_numpy(), float(np.clip(np.nanmax(shown.to_numpy()), 0.01, 1.0))
    marks = sizes.tolist() if len(sizes) <= SIZES else [int(t) for t in ticks(0, int(sizes.max()), 8)]
    up = [t for t in ticks(0.0, high) if t <= 1.0]
    top = max(up[-1], high)

    def x(value: float) -> float:
        share = float(value - sizes[0]) / max(float(sizes[-1] - sizes[0]), 1.0)
        return round(LEFT + 10 + (WIDTH - LEFT - 30) * share, 1)

    def y(value: float) -> float:
        return round(10 + (HEIGHT - BOTTOM - 10) * (1 - min(max(value, 0.0), top) / top), 1)

    def joined(name: str, order: int = 1) -> list[str]:
        return [f"{x(k)},{y(v)}" for k, v in zip(sizes[::order], shown[name].to_numpy()[::order], strict=True)]

    told = [f"{k} feature{'' if k == 1 else 's'}: {percent(v)} lost" for k, v in shown["lost"].items()]
    points = [(x(k), y(v), t) for (k, v), t in zip(shown["lost"].items(), told, strict=True)]
    place = int(np.searchsorted(sizes, size))
    return Curve(
        line=" ".join(joined("lost")),
        limits=" ".join([*joined("lost_low"), *joined("lost_high", -1)]),
        points=[point for i, point in enumerate(points) if i != place],
        mark=points[place],
        enough=None if enough is None or enough == size else x(enough),
        across=[(x(k), str(k)) for k in marks if k <= sizes[-1]],
        up=[(y(t), percent(t).replace(".0 %", " %")) for t in up],
    )
