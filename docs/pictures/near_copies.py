"""The README's picture: near-copies chosen by the Lasso, against a diverse set.

python docs/pictures/near_copies.py
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import variegate as vg
from variegate.baselines import Problem, select

IMAGE = Path(__file__).parents[1] / "images" / "near_copies.png"
SIZE = 10  # columns in a block
HARD = (120, 200, 12)  # rows, columns, blocks that matter
EASY = (100, 60, 3)
TABLES = 4


def chosen(seed, rows, columns, true):
    """A table, and the columns that each method chooses from it, as many as matter."""
    data = vg.datasets.make_blocks(rows, columns, block_size=SIZE, correlation=0.95, n_true=true, rng=seed)
    model = vg.DiverseRegressor(n_features_to_select=true, random_state=0).fit(data.X, data.y)
    problem, rng = Problem(data.X, data.y, "regression"), np.random.default_rng(0)
    lasso, omp = (select(name, problem, true, rng) for name in ("lasso", "omp"))
    return data, {"Lasso": lasso, "variegate": np.flatnonzero(model.support_), "OMP": omp}


def hits(data, S):
    """How many of the blocks that matter are hit."""
    return len(set(data.groups[S]) & set(data.groups[data.truth]))


def mean_hits(found):
    """{method: mean number of blocks hit} over tables."""
    return {name: np.mean([hits(data, sets[name]) for data, sets in found]) for name in found[0][1]}


def draw(data, sets):
    """A row for each of the first two methods: the blocks, and the columns that it chose."""
    fig, axes = plt.subplots(2, 1, figsize=(9, 2.2), layout="constrained")
    for ax, (name, S) in zip(axes, sets.items(), strict=False):
        for block in range(data.X.shape[1] // SIZE):
            colour = "#009E73" if block in data.groups[data.truth] else "#9A9A9A"
            ax.axvspan(SIZE * block - 0.4, SIZE * (block + 1) - 0.6, color=colour, alpha=0.3, lw=0)
        ax.plot(S, np.zeros(len(S)), "o", color="black", ms=7)
        ax.set(yticks=[], xticks=[], xlim=(-1, data.X.shape[1]))
        ax.set_ylabel(f"{name}\n{hits(data, S)} of {len(data.truth)}", rotation=0, ha="right", va="center")
        ax.spines[:].set_visible(False)
    return fig


def main():
    """Draw the first hard table, and print the means over hard and easy ones."""
    for rows, columns, true in (HARD, EASY):
        found = [chosen(seed, rows, columns, true) for seed in range(TABLES)]
        for name, mean in mean_hits(found).items():
            print(f"{rows} rows, {columns} columns: {name} {mean:.1f} of {true} blocks, mean of {TABLES} tables")
        if (rows, columns, true) == HARD:
            draw(*found[0]).savefig(IMAGE, dpi=120)


if __name__ == "__main__":
    main()
