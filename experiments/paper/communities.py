"""Communities of a gene network, which methods hit them, and their enrichment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from variegate.comparison import Comparison

Array = npt.NDArray[Any]


def find_communities(adjacency: Any, resolution: float, seed: int) -> list[int | None]:
    """Communities of the nodes (M,) by networkx's Louvain method, numbered by size; None for a single node.

    The paper uses link communities instead, where a node may be in several. Louvain communities are disjoint; the
    resolution determines their number.
    """
    import networkx as nx

    graph = nx.from_scipy_sparse_array(adjacency)
    parts = nx.community.louvain_communities(graph, resolution=resolution, seed=seed)
    labels: list[int | None] = [None] * adjacency.shape[0]
    for number, part in enumerate(sorted((p for p in parts if len(p) > 1), key=lambda p: (-len(p), min(p)))):
        for node in part:
            labels[node] = number
    return labels


def hit_shares(found: Comparison, labels: Sequence[int | None]) -> pd.DataFrame:
    """Fraction of repeats in which each method (columns) hits each community (rows)."""
    numbers = sorted({label for label in labels if label is not None})
    shares = pd.DataFrame(0.0, index=pd.Index(numbers, name="community"), columns=found.methods)
    done = found.selections[found.selections["error"].isna()]
    for method, rows in done.groupby("method"):
        for positions in rows["positions"]:
            hit = {labels[i] for i in positions} - {None}
            shares.loc[sorted(h for h in hit if h is not None), method] += 1 / len(rows)
    return shares


def preferred(shares: pd.DataFrame, method: str, least: float) -> list[int]:
    """Communities that a method hits in at least this fraction of repeats, and more often than any other method."""
    others = shares.drop(columns=method).max(axis=1)
    return [int(number) for number in shares.index[(shares[method] >= least) & (shares[method] > others)]]


def enrichment(
    members: Mapping[int, Sequence[str]], background: Sequence[str], sets: Mapping[str, Sequence[str]], least: int = 5
) -> pd.DataFrame:
    """For each community and gene set: the overlap, its hypergeometric p-value, and Benjamini and Hochberg's q.

    P(overlap ≥ k) for |community| genes drawn from the background without replacement. Sets with fewer than `least`
    genes in the background are left out. q is over all pairs tested.
    """
    known = {gene: i for i, gene in enumerate(dict.fromkeys(background))}
    inside = {name: known.keys() & set(genes) for name, genes in sets.items()}
    inside = {name: genes for name, genes in inside.items() if len(genes) >= least}
    sizes = np.array([len(genes) for genes in inside.values()])
    members_of = np.zeros((len(known), len(inside)), dtype=np.int64)
    for column, genes in enumerate(inside.values()):
        members_of[[known[gene] for gene in genes], column] = 1
    parts = []
    for number, community in members.items():
        rows = sorted({known[gene] for gene in community})
        overlap = members_of[rows].sum(axis=0)
        p = stats.hypergeom.sf(overlap - 1, len(known), sizes, len(rows))
        about = {"community": number, "genes": len(rows), "set": list(inside), "set size": sizes}
        parts.append(pd.DataFrame({**about, "overlap": overlap, "p": p}))
    table = pd.concat(parts, ignore_index=True)
    table["q"] = stats.false_discovery_control(table["p"]) if len(table) else table["p"]
    return table.sort_values(["p", "community", "set"], kind="stable", ignore_index=True)


def enriched_share(table: pd.DataFrame, numbers: Sequence[int], level: float = 0.05) -> float:
    """Fraction of communities with at least one set of q below the level; nan if there are no communities."""
    hit = set(table.loc[table["q"] < level, "community"])
    return float(np.mean([number in hit for number in numbers])) if len(numbers) else np.nan
