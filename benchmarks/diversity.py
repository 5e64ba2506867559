"""What diversity costs: on the demo's data, on blocks of near-copies, and on genes in a network."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import variegate as vg
from variegate.baselines import Problem, diverse_path
from variegate.comparison import Frontier

from .measure import table, versions
from .selection import DATA, SNR, SPREAD, judged

BLOCK_SEEDS, BLOCK_DIVERSITIES = 5, (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
GENES = {"sizes": (10, 20, 40), "diversities": (0.0, 1.0, 4.0, 16.0, 64.0, 256.0), "repeats": 20}
FIGURES = Path(__file__).parent / "figures"


def rows_of(found: Frontier, sizes: tuple[int, ...]) -> list[list[object]]:
    """Points as rows of a table."""
    rows = []
    for _, p in found.points[found.points["size"].isin(sizes)].sort_values("size", kind="stable").iterrows():
        name = p["method"] if np.isnan(p["diversity"]) else f"variegate, β = {p['diversity']:g}"
        extra = [f"{p['communities']:.1f}"] if "communities" in p else []
        extra += [f"{p['enriched']:.0%}"] if "enriched" in p else []
        cells = [f"{p['accuracy']:.4f} ± {p['error']:.4f}", f"{p['log det']:.2f}", f"{p['largest |r|']:.2f}", *extra]
        rows.append([name, p["size"], *cells])
    return rows


def demo() -> str:
    """The frontier of 8 diversities and 5 sizes, with 5 folds."""
    data = load_breast_cancer(as_frame=True)
    start = time.perf_counter()
    found = vg.frontier(data.data, data.target, n_jobs=2, progress=False)
    seconds = time.perf_counter() - start
    return "\n\n".join(
        [
            "Breast cancer (the demo's data): eight diversities, five sizes, five folds, two processes: "
            f"{seconds:.0f} s. Sets of six:",
            table(["", "size", "AUC", "log det", "largest r"], rows_of(found, (6,))),
            found.sentence(),
            found.sentence(6),
        ]
    )


def blocks() -> str:
    """Accuracy on new rows of the best 20 of 2,000 columns in blocks of ten near-copies."""
    found = []
    for seed in range(BLOCK_SEEDS):
        data = vg.datasets.make_blocks(**DATA, task="regression", snr=SNR["regression"], spread=SPREAD, rng=seed)
        path = diverse_path(
            Problem(data.X, data.y, "regression"), BLOCK_DIVERSITIES, (20,), np.random.default_rng(seed)
        )
        found += [judged(data, "regression", S) | {"β": beta} for beta, _, S in path]
        print(f"diversity: blocks, seed {seed}", file=sys.stderr, flush=True)
    means = pd.DataFrame(found).groupby("β").mean()
    rows = [[f"{b:g}", f"{m.accuracy:.3f}", f"{m['log det']:.2f}", f"{m.blocks:.1f}"] for b, m in means.iterrows()]
    return "\n\n".join(
        [
            f"Blocks (N=500, M=2000, blocks of 10, r=0.95, 20 true blocks; the best 20, {BLOCK_SEEDS} data sets, "
            "5,000 new rows):",
            table(["β", "R2", "log det", "true blocks"], rows),
        ]
    )


def genes() -> str:
    """Panels of genes that distinguish stage I from II and cover a network."""
    if not os.environ.get("VARIEGATE_DATA"):
        return "Genes: not run, VARIEGATE_DATA is not set."
    from experiments.paper.communities import enriched_share
    from experiments.paper.genes import Settings, communities_of, enriched_members, load

    settings = Settings()
    found = load(settings, None)
    labels = communities_of(found, settings)
    start = time.perf_counter()
    frontier = vg.frontier(
        found.data.X, found.data.y, task="classification", similarity=found.phi, kernel=found.kernel,
        communities=labels, screen=settings.screen, n_jobs=2, progress=True, methods=("omp", "lasso"), **GENES,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    members, table_of = enriched_members(found, labels, None)
    hit = [sorted({labels[i] for i in S} - {None}) for S in frontier.points["positions"]]
    frontier.points["enriched"] = [enriched_share(table_of, numbers) for numbers in hit]
    name = "tcga-frontier.png"
    frontier.plot().figure.savefig(FIGURES / name, dpi=110)
    return "\n\n".join(
        [
            f"TCGA, stage I against II, BioGRID as similarity ({len(labels):,} genes, {settings.screen:,} kept by "
            f"screening in each of {GENES['repeats']} splits, {seconds:.0f} s; log det by the network kernel):",
            table(
                ["", "size", "AUC", "log det", "largest r", "communities", "enriched"],
                rows_of(frontier, tuple(GENES["sizes"])),  # type: ignore[arg-type]
            ),
            "Communities: of the network (Louvain), hit by a set, mean of the splits. Enriched: of those that the set "
            "of all rows hits, the share that is enriched in some Reactome or Hallmark set (q < 0.05); of all "
            f"communities {enriched_share(table_of, list(members)):.0%}.",
            f"![AUC against diversity](figures/{name})",
        ]
    )


def main() -> str:
    head = f"## Diversity and what it costs\n\n{versions('variegate', 'numpy', 'scikit-learn')}"
    return "\n\n".join([head, demo(), blocks(), genes()])
