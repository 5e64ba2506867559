"""The README's picture: near-copies chosen by the Lasso, against a diverse set."""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import variegate as vg
from variegate.baselines import Problem, select

IMAGE = Path(__file__).parents[1] / "images" / "near_copies.png"


def draw() -> None:
    """Two rows of sixty columns: what either method chose, of which block."""
    data = vg.datasets.make_blocks(100, 60, block_size=5, correlation=0.95, n_true=6, n_test=1000, rng=0)
    model = vg.DiverseRegressor(n_features_to_select=6, random_state=0).fit(data.X, data.y)
    sets = {
        "Lasso": select("lasso", Problem(data.X, data.y, "regression"), 6, np.random.default_rng(0)),
        "variegate": np.flatnonzero(model.support_),
    }
    fig, axes = plt.subplots(2, 1, figsize=(9, 2.3), layout="constrained", sharex=True)
    for ax, (name, S) in zip(axes, sets.items(), strict=True):
        for block in range(12):
            true = block in data.groups[data.truth]
            ax.axvspan(
                5 * block - 0.4, 5 * block + 4.4, color="#009E73" if true else "#9A9A9A", alpha=0.35 if true else 0.2
            )
        ax.plot(S, np.zeros(len(S)), "o", color="black", ms=9)
        hit = len(set(data.groups[S]) & set(data.groups[data.truth]))
        ax.set(yticks=[], xticks=[], xlim=(-1, 60))
        ax.set_ylabel(f"{name}\n{hit} of 6 blocks", rotation=0, ha="right", va="center")
        ax.spines[:].set_visible(False)
    fig.savefig(IMAGE, dpi=120)


if __name__ == "__main__":
    draw()
