"""Figure 1: six items, three of which become collinear."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from variegate.dpp import LowRankDPP

from .outputs import markdown, new_figure, save_figure, write_results, write_table
from .settings import Running
from .toy_items import make_toy

Array = npt.NDArray[Any]
BLOCKS = ("items 1–3", "item 4", "item 5", "item 6")
COLOURS = ("#009E73", "#E69F00", "#56B4E9", "#CC79A7")  # Okabe and Ito's: distinct for colour-blind readers


@dataclass(frozen=True)
class Settings:
    """Number of sets per condition number, number and range of condition numbers, λ₁."""

    draws: int = 4000
    conditions: int = 13
    largest_condition: float = 1e4
    eigenvalue: float = 1.0


QUICK = {"draws": 500, "conditions": 5}


def run(settings: Settings, data: Any, out: Path, running: Running) -> None:
    """Draw sets at each condition number; table and figure."""
    rng = np.random.default_rng(running.seed)
    conditions = np.logspace(0, np.log10(settings.largest_condition), settings.conditions)
    rows = [row for c in conditions for row in _blocks(c, settings, rng)]
    table = pd.DataFrame(rows)
    write_table(table, out, "blocks")
    save_figure(_figure(table, settings), out, "figure1")
    shown = table[table["condition number"].isin(conditions[:: max(len(conditions) // 4, 1)])]
    wide = shown.assign(cell=[f"{d:.3f} ({e:.3f})" for d, e in zip(shown["drawn"], shown["exact"], strict=True)])
    wide = wide.pivot(index="condition number", columns="block", values="cell").reset_index()
    wide["condition number"] = [f"{c:.0f}" for c in wide["condition number"]]
    write_results(
        out,
        "Figure 1: collinear items count as one",
        [
            f"Items drawn from each block, average over {settings.draws} sets (exact expectation in brackets):",
            markdown(wide[["condition number", *BLOCKS]]),
            "![figure 1](figure1.png)",
        ],
    )


def _blocks(condition: float, settings: Settings, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Average number of items drawn from each block, its standard error, and its expectation."""
    toy = make_toy(condition, settings.eigenvalue)
    dpp = LowRankDPP(toy.phi, toy.theta)
    counts = np.array([np.bincount(toy.blocks[S], minlength=4) for S in dpp.sample(settings.draws, rng)])
    error = counts.std(axis=0) / np.sqrt(len(counts))
    return [
        {"condition number": condition, "block": name, "drawn": drawn, "error": e, "exact": exact}
        for name, drawn, e, exact in zip(BLOCKS, counts.mean(axis=0), error, toy.expected_counts, strict=True)
    ]


def _figure(table: pd.DataFrame, settings: Settings) -> Any:
    figure, (kernel, shares) = new_figure(1, 2, size=(8.2, 3.4), width_ratios=[1, 1.5])
    image = kernel.imshow(make_toy(4.0, settings.eigenvalue).L, cmap="Greens", vmin=0)
    figure.colorbar(image, ax=kernel, shrink=0.8, label="similarity $L_{ij}$")
    kernel.set(title="Kernel, $\\lambda_1/\\lambda_2 = 4$", xlabel="item", ylabel="item")
    kernel.set_xticks(range(6), range(1, 7))
    kernel.set_yticks(range(6), range(1, 7))
    for name, colour, marker in zip(BLOCKS, COLOURS, "osD^", strict=True):
        rows = table[table["block"] == name]
        shares.plot(rows["condition number"], rows["exact"], color=colour, lw=1.5)
        shares.plot(rows["condition number"], rows["drawn"], marker, color=colour, ms=5, label=name)
    shares.set(
        xscale="log",
        ylim=(0, None),
        xlabel="condition number $\\lambda_1/\\lambda_2$ of the first block",
        ylabel="items drawn from the block, average",
        title="Collinear items count as one",
    )
    shares.legend(title="points: drawn, lines: exact", frameon=False, ncols=2)
    return figure
