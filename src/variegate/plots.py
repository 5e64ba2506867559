"""Plots: arrays in, Axes out. They need matplotlib (`pip install "variegate[plots]"`)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .messages import counted

Array = NDArray[Any]
OURS, OTHERS = "#009E73", "#9A9A9A"  # highlighted, and all others in grey
MARKERS = "osD^vP*Xh<>p"
DISTINCT = ("#0072B2", "#D55E00", "#56B4E9", "#E69F00", "#CC79A7")  # with OURS: colour-blind safe (Okabe and Ito)


def boxes(samples: Mapping[str, Array], label: str, *, highlighted: str | None = None, ax: Any = None) -> Any:
    """One box for each named sample, its values as points beside it.

    >>> ax = boxes({"ours": np.array([0.7, 0.8]), "theirs": np.array([0.6, 0.7])}, "R²", highlighted="ours")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['ours', 'theirs']
    """
    ax = _axes(ax, (1.5 + 0.75 * len(samples), 3.4))
    names = list(samples)
    finite = [np.asarray(samples[name])[np.isfinite(samples[name])] for name in names]
    drawn = ax.boxplot(finite, widths=0.5, showfliers=False, patch_artist=True, medianprops={"color": "black"})
    for i, (name, box, values) in enumerate(zip(names, drawn["boxes"], finite, strict=True), start=1):
        box.set(facecolor=OURS if name == highlighted else OTHERS, alpha=0.6)
        # spread evenly, not at random, so that the same numbers give the same plot
        beside = i + 0.36 * (np.arange(len(values)) / max(len(values) - 1, 1) - 0.5)
        ax.plot(beside, values, ".", color="black", ms=3, alpha=0.5)
    ax.set_xticks(range(1, len(names) + 1), names, rotation=30, ha="right")
    ax.set_ylabel(_with_lost(label, sum(len(samples[n]) for n in names) - sum(map(len, finite))))
    return ax


def loss_by_size(
    sizes: Array, lost: Array, low: Array, high: Array, *, chosen: int | None = None, ax: Any = None
) -> Any:
    """What panels of each size lose of what a model predicts, with limits, as in `panel_.curve`.

    >>> lost = np.array([1.0, 0.4, 0.1])
    >>> ax = loss_by_size(np.arange(3), lost, 0.5 * lost, np.minimum(2 * lost, 1), chosen=2)
    >>> ax.get_xlabel()
    'size of the panel'
    """
    ax = _axes(ax, (5.2, 3.0))
    ax.fill_between(sizes, low, high, color=OURS, alpha=0.15, lw=0)
    ax.plot(sizes, lost, ".-", color=OURS)
    if chosen is not None:
        ax.plot(chosen, np.asarray(lost)[np.asarray(sizes) == chosen][0], "o", color=OURS, ms=9)
    ax.set(xlabel="size of the panel", ylabel="share of the predictions lost", ylim=(0, None))
    return ax


def tradeoff(
    pairs: Mapping[str, Array], x_label: str, y_label: str, *, highlighted: str | None = None, ax: Any = None
) -> Any:
    """Mean of each named cloud of pairs (n, 2), with standard errors as bars: up and to the right is better.

    >>> ax = tradeoff({"ours": np.array([[-1.0, 0.7], [-2.0, 0.8]])}, "log det", "R²")
    >>> ax.get_xlabel()
    'log det'
    """
    ax = _axes(ax, (5.2, 3.6))
    lost = 0
    for i, (name, given) in enumerate(pairs.items()):
        cloud = np.asarray(given, dtype=np.float64)
        cloud = cloud[np.isfinite(cloud).all(axis=1)]
        lost += len(given) - len(cloud)
        if not len(cloud):
            continue
        x, y = cloud.mean(axis=0)
        error = cloud.std(axis=0, ddof=1) / np.sqrt(len(cloud)) if len(cloud) > 1 else np.zeros(2)
        # colours repeat after five and markers after twelve, so pairs of them repeat only after sixty
        colour = OURS if name == highlighted else DISTINCT[i % len(DISTINCT)]
        ax.errorbar(
            x, y, xerr=error[0], yerr=error[1], fmt=MARKERS[i % len(MARKERS)], color=colour, ms=8, elinewidth=0.8,
            mec="white", mew=0.6, label=name, zorder=3 if name == highlighted else 2,
        )  # fmt: skip
    ax.set(xlabel=_with_lost(x_label, lost), ylabel=y_label)
    ax.legend(frameon=False, bbox_to_anchor=(1.0, 1.0), loc="upper left")
    return ax


def frontier(points: Any, y_label: str, recommended: Any, *, ours: str, ax: Any = None) -> Any:
    """Accuracy against log det of points (a data frame): a line for each size, in the order of the diversities.

    The method `ours` is drawn as lines, others as markers; a ring marks the recommended row.

    >>> import pandas as pd
    >>> points = pd.DataFrame({"method": "us", "diversity": [0.0, 1.0], "size": 2, "accuracy": [0.8, 0.7]})
    >>> points = points.assign(error=0.1, **{"log det": [-2.0, -1.0]})
    >>> frontier(points, "AUC", points.iloc[0], ours="us").get_ylabel()
    'AUC'
    """
    ax = _axes(ax, (6.4, 4.2))
    sizes = sorted(points["size"].unique())
    colours = {size: (OURS, *DISTINCT)[i % (1 + len(DISTINCT))] for i, size in enumerate(sizes)}
    mine = points[(points["method"] == ours) & np.isfinite(points["log det"])]["log det"]
    finite = points[points["log det"] > mine.min() - 0.25 * max(mine.max() - mine.min(), 1.0)]
    for size, rows in finite[finite["method"] == ours].groupby("size"):
        rows = rows.sort_values("diversity")
        ax.errorbar(
            rows["log det"], rows["accuracy"], yerr=rows["error"], fmt="o-", color=colours[size], ms=5, lw=1.2,
            elinewidth=0.6, label=counted(size, "feature"),
        )  # fmt: skip
    for i, (name, rows) in enumerate(finite[finite["method"] != ours].groupby("method", sort=False)):
        ax.scatter(
            rows["log det"], rows["accuracy"], marker=MARKERS[1 + i % (len(MARKERS) - 1)], s=36, facecolors="white",
            edgecolors=[colours[size] for size in rows["size"]], label=name,
        )  # fmt: skip
    ax.plot(recommended["log det"], recommended["accuracy"], "o", ms=13, mfc="none", mec="black", label="recommended")
    lost = len(points) - len(finite)
    further = f" ({lost} others are further left)" if lost else ""
    ax.set(xlabel=f"log det: more is more diverse{further}", ylabel=y_label)
    ax.legend(frameon=False, bbox_to_anchor=(1.0, 1.0), loc="upper left")
    return ax


def frequencies(
    frequency: Array, probability: Array, names: Array, *, threshold: float | None = None, ax: Any = None
) -> Any:
    """How often each feature was selected, as bars, and its mean inclusion probability, as points; in the given order.

    >>> ax = frequencies(np.array([0.9, 0.2]), np.array([0.8, 0.1]), np.array(["a", "b"]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    ax = _axes(ax, (5.0, 0.8 + 0.26 * len(names)))
    rows = np.arange(len(names))
    ax.barh(rows, frequency, color=OURS, alpha=0.6, label="selected")
    if np.isfinite(probability).any():
        ax.plot(probability, rows, "o", color="black", ms=4, label="inclusion probability, mean")
    if threshold is not None:
        ax.axvline(threshold, color=OTHERS, ls="--", lw=1)
    ax.set_yticks(rows, names)
    ax.set(xlim=(0, 1.02), xlabel="share of the bootstraps")
    ax.invert_yaxis()
    ax.legend(frameon=False, bbox_to_anchor=(1.0, 1.0), loc="lower right")
    return ax


def groups(probability: Array, members: list[Array], *, ax: Any = None) -> Any:
    """Inclusion probabilities (M,) along the columns; each group of features that replace each other has a colour.

    >>> ax = groups(np.array([0.5, 0.1, 0.4]), [np.array([0, 2])])
    >>> ax.get_ylabel()
    'inclusion probability'
    """
    ax = _axes(ax, (7.0, 2.8))
    ax.plot(np.arange(len(probability)), probability, "o", color=OTHERS, ms=3)
    for number, positions in enumerate(members):
        colour = (OURS, *DISTINCT)[number % (1 + len(DISTINCT))]
        ax.plot(positions, probability[positions], MARKERS[number // (1 + len(DISTINCT)) % len(MARKERS)], color=colour)
    ax.set(xlabel="column", ylabel="inclusion probability", ylim=(-0.03, 1.03))
    return ax


def _with_lost(label: str, n: int) -> str:
    return f"{label} (left out: {n} infinite)" if n else label


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise ImportError('Plots need matplotlib: pip install "variegate[plots]".') from error
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax
