"""Figure 3: curves over the number of measurements, and maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .methods import COLOURS, MARKERS, OURS
from .outputs import new_figure

Array = npt.NDArray[Any]
LABELS = {
    "distance": "mean distance of chosen grid points (km)",
    "MSE": "mean squared error (°C²), least squares",
    "MSE, normal heights": "mean squared error (°C²), normal heights",
}


def curves_figure(table: pd.DataFrame) -> Any:
    """Distance and error against the number of measurements; bars are standard errors over the repeats."""
    figure, axes = new_figure(1, 3, size=(13.5, 4.0))
    methods = list(table["method"].unique())
    for ax, (metric, label) in zip(axes, LABELS.items(), strict=True):
        rows = table[table["metric"] == metric]
        for i, method in enumerate(methods):
            own = rows[rows["method"] == method]
            # a little apart, so that bars at the same place do not hide each other
            x = own["measurements"] + 3.0 * (i - (len(methods) - 1) / 2)
            ax.errorbar(
                x, own["mean"], yerr=own["sd"] / np.sqrt(own["n"]), color=COLOURS[method], marker=MARKERS[method],
                ms=6, lw=2.2 if method == OURS else 1.2, elinewidth=0.8, label=method, markeredgecolor="black",
                markeredgewidth=0.4, zorder=4 if method == OURS else 3,
            )  # fmt: skip
        ax.set(xlabel="number of measurements", ylabel=label)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def maps_figure(field: Any, pictures: dict[str, tuple[Array, Array, Array]], raster: Any) -> Any:
    """Predicted temperature, with the chosen grid points as circles and the measured stations as dots.

    Predictions outside the range of all measurements are red (above) or blue (below).
    """
    from matplotlib import colormaps

    low, high = float(field.y.min()), float(field.y.max())
    shades = colormaps["cividis"].with_extremes(over="#D55E00", under="#56B4E9", bad="white")
    figure, axes = new_figure(1, len(pictures), size=(5.6 * len(pictures), 4.0))
    drawn: Any = None
    for ax, (method, (picture, S, train)) in zip(np.atleast_1d(axes), pictures.items(), strict=True):
        drawn = ax.pcolormesh(raster.x, raster.y, picture, cmap=shades, vmin=low, vmax=high, rasterized=True)
        ax.contour(raster.x, raster.y, raster.inside.astype(float), levels=[0.5], colors="black", linewidths=0.6)
        ax.plot(*field.sites[train].T, ".", color="black", ms=1.2, label="station measured")
        width = field.widths[S]
        size = 14 * (width / field.widths.min()) ** 1.4
        ax.scatter(*field.centres[S].T, s=size, facecolors="none", edgecolors="black", linewidths=2.6)
        ax.scatter(
            *field.centres[S].T, s=size, facecolors="none", edgecolors="white", linewidths=1.4,
            label="chosen grid point, larger: wider bump",
        )  # fmt: skip
        ax.set_title(f"{method}, {len(S)} grid points", fontsize=10)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    figure.colorbar(
        drawn,
        ax=axes,
        shrink=0.75,
        extend="both",
        label="July mean temperature, predicted (°C);\nends: beyond all stations",
    )
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=True, facecolor="#BBBBBB")
    legend.get_frame().set_linewidth(0)
    return figure
