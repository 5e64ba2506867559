"""The paper's figure 1: six items, of which three grow collinear.

python experiments/toy/run.py [--draws 4000] [--out experiments/toy]
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

import variegate as vg

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
BLOCKS = [[0, 1, 2], [3], [4], [5]]
COLOURS = ["#009E73", "#E69F00", "#56B4E9", "#CC79A7"]  # Okabe and Ito's: distinct for colour-blind readers
NAMES = ["items 1–3", "item 4", "item 5", "item 6"]


def similarity_features(condition: float) -> np.ndarray:
    """Φ (6, 5): a block of rank two with eigenvalues 1 and 1/condition, and three items like no other."""
    shared = np.array([1.0, 1.0, 1.0]) / np.sqrt(3)
    contrast = np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
    phi = np.zeros((6, 5))
    phi[:3, 0], phi[:3, 1] = shared, contrast / np.sqrt(condition)
    phi[3:, 2:] = np.eye(3)
    return phi


def items_per_block(condition: float, draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Average number of items drawn from each block, and its exact expectation."""
    dpp = vg.LowRankDPP(similarity_features(condition), np.zeros(6))
    counts = np.bincount(np.concatenate(dpp.sample(draws, rng)), minlength=6) / draws
    exact = dpp.inclusion_prob()
    return np.array([counts[b].sum() for b in BLOCKS]), np.array([exact[b].sum() for b in BLOCKS])


def plot(conditions: np.ndarray, drawn: np.ndarray, exact: np.ndarray, out: Path) -> None:
    fig, (kernel, shares) = plt.subplots(1, 2, figsize=(8.2, 3.4), width_ratios=[1, 1.5], layout="constrained")
    phi = similarity_features(4.0)
    image = kernel.imshow(phi @ phi.T, cmap="Greens", vmin=0, vmax=1)
    fig.colorbar(image, ax=kernel, shrink=0.8, label="similarity $L_{ij}$")
    kernel.set(title="Kernel, $\\lambda_1/\\lambda_2 = 4$", xlabel="item", ylabel="item")
    kernel.set_xticks(range(6), range(1, 7))
    kernel.set_yticks(range(6), range(1, 7))
    styles = zip(NAMES, COLOURS, "osD^", exact.T, drawn.T, strict=True)
    for name, colour, marker, line, points in styles:
        shares.plot(conditions, line, color=colour, lw=1.5)
        shares.plot(conditions, points, marker, color=colour, ms=5, label=name)
    shares.set(
        xscale="log",
        ylim=(0, 1.1),
        xlabel="condition number $\\lambda_1/\\lambda_2$ of the first block",
        ylabel="items drawn from the block, average",
        title="Collinear items count as one",
    )
    shares.legend(title="points: drawn, lines: exact", frameon=False, ncols=2)
    for suffix in ("png", "svg"):
        fig.savefig(out / f"figure1.{suffix}", dpi=150, metadata={"Date": None} if suffix == "svg" else None)
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4000, help="sets drawn for each condition number")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for figure1.png and figure1.svg")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mpl.rcParams["svg.hashsalt"] = "variegate"  # the same figure is the same file
    rng = np.random.default_rng(args.seed)
    conditions = np.logspace(0, 4, 13)
    drawn, exact = map(np.array, zip(*(items_per_block(c, args.draws, rng) for c in conditions), strict=True))
    print("Items drawn from each block, average (exact expectation in brackets)\n")
    print("condition   " + "".join(f"{name:>18}" for name in NAMES))
    for c, mean, truth in zip(conditions[::3], drawn[::3], exact[::3], strict=True):
        print(f"{c:9.0f}   " + "".join(f"{m:9.3f} ({t:.3f}) " for m, t in zip(mean, truth, strict=True)))
    args.out.mkdir(parents=True, exist_ok=True)
    plot(conditions, drawn, exact, args.out)
    print(f"\nThe picture: {args.out / 'figure1.png'}")


if __name__ == "__main__":
    main()
