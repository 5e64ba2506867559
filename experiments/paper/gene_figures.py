"""Figure 2: box plots, and networks of the genes chosen most often."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from variegate import plots
from variegate.comparison import Comparison

from .methods import OURS
from .outputs import new_figure
from .summaries import marks

Array = npt.NDArray[Any]
LABELS = {"AUC": "AUC on the test part", "log det": "log det of the full kernel $L_S$"}


def boxes_figure(found: Comparison, tables: dict[str, pd.DataFrame]) -> Any:
    """AUC and diversity side by side; asterisks mark methods that differ from ours (rank sum, Holm)."""
    figure, axes = new_figure(1, len(tables), size=(1.5 + 4.4 * len(tables), 3.9))
    for ax, (metric, table) in zip(axes, tables.items(), strict=True):
        wide = found.values(metric)
        samples = {name: wide[name].dropna().to_numpy() for name in found.methods}
        plots.boxes(samples, LABELS[metric], highlighted=OURS, ax=ax)
        ax.set_ylabel(LABELS[metric])
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.06 * (high - low))
        for i, p in enumerate(table["p"], start=1):
            ax.text(i, high + 0.02 * (high - low), marks(p), ha="center", va="center", fontsize=9)
        for i, lost in enumerate(table["infinite"], start=1):
            if lost:
                ax.text(i, low, f"{lost} × −∞", ha="center", va="bottom", fontsize=7)
        ax.tick_params(axis="x", labelsize=8)
    axes[0].axhline(0.5, color=plots.OTHERS, ls="--", lw=1)
    return figure


def networks_figure(tops: dict[str, pd.DataFrame], kernel: Any, threshold: float) -> Any:
    """The genes chosen most often by each method, on a circle that starts with the most frequent on the right.

    `tops` have columns position, name, times and similarity; lines join genes more similar than the threshold.
    """
    figure, axes = new_figure(1, len(tops), size=(5.2 * len(tops), 5.4))
    largest = max(float(top["similarity"].max()) for top in tops.values())
    most = max(int(top["times"].max()) for top in tops.values())
    drawn: Any = None
    for ax, (method, top) in zip(axes, tops.items(), strict=True):
        drawn, n_edges = _circle(ax, top, kernel, (threshold, largest, most))
        pairs = len(top) * (len(top) - 1) // 2
        ax.set_title(f"{method}: {n_edges} of {pairs} pairs are similar ($L_{{ij}}$ > {threshold:.2f})", fontsize=9)
    figure.colorbar(drawn, ax=axes, shrink=0.6, label="sum of the gene's similarities $L_{ij}$ to the others")
    figure.supxlabel(f"radius: times the gene was chosen (largest: {most})", fontsize=9)
    return figure


def _circle(ax: Any, top: pd.DataFrame, kernel: Any, scale: tuple[float, float, int]) -> tuple[Any, int]:
    """Draw genes on a circle; return the points and the number of lines."""
    threshold, largest, most = scale
    S = top["position"].to_numpy()
    angles = 2 * np.pi * np.arange(len(S)) / len(S)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    K = kernel.block(S, S)
    pairs = [(i, j) for i in range(len(S)) for j in range(i) if K[i, j] > threshold]
    for i, j in pairs:
        ax.plot(*places[[i, j]].T, color="#9A9A9A", lw=0.4 + 1.6 * (K[i, j] - threshold) / (1 - threshold), zorder=1)
    radius = 9 * np.sqrt(np.pi) * top["times"].to_numpy() / most / 2  # points
    points = ax.scatter(
        *places.T, s=(2 * radius) ** 2 * np.pi / 4 + 8, c=top["similarity"], cmap="viridis", vmin=0, vmax=largest,
        zorder=2, edgecolors="white", linewidths=0.5,
    )  # fmt: skip
    for name, angle in zip(top["name"], angles, strict=True):
        turned = np.cos(angle) < -1e-9
        ax.text(
            1.1 * np.cos(angle), 1.1 * np.sin(angle), name, fontsize=6.5, va="center",
            ha="right" if turned else "left", rotation_mode="anchor", rotation=np.degrees(angle) + 180 * turned,
        )  # fmt: skip
    ax.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal")
    ax.axis("off")
    return points, len(pairs)
