"""Figure 2: genes that distinguish tumours of stage I from stage II, diverse by a network of interactions.

Screening is done inside each training part. Sets are judged by the full kernel; the methods use its factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.data import Dataset, load_biogrid, load_gene_sets, load_tcga_brca
from variegate import similarity
from variegate.comparison import Comparison, compare
from variegate.data import Network

from .communities import enriched_share, enrichment, find_communities, hit_shares, preferred
from .gene_figures import boxes_figure, networks_figure
from .methods import BASELINES, METHODS, OURS, chosen_methods
from .outputs import markdown, save_figure, write_results, write_table
from .settings import Running
from .summaries import against_ours, p_text, write_repeats

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Settings:
    """Settings; `size` is given because the best set of free size is empty on these data (weak signal)."""

    repeats: int = 100
    test_size: float = 0.2
    size: int = 20
    screen: int = 2000
    hubs: int = 300
    rank: int = 300
    methods: tuple[str, ...] = tuple(METHODS)
    top: int = 40
    edge_share: float = 0.1  # fraction of all pairs of genes, the most similar ones, that are joined by lines
    resolution: float = 20.0  # of the communities
    least_share: float = 0.2  # fraction of repeats in which a method must hit a community to prefer it
    false_discoveries: float = 0.05  # level of q for enrichment


QUICK = {"repeats": 2, "methods": (OURS, "FS", "OMP", "Random"), "screen": 300, "rank": 100}


class Genes(NamedTuple):
    """Expression, network, the full kernel of the genes, and Φ (M, rank)."""

    data: Dataset
    network: Network
    kernel: Any
    phi: Array


def run(settings: Settings, data: Any, out: Path, running: Running) -> None:
    """Run all methods on the same splits; write tables, figures, communities and their enrichment."""
    genes = load(settings, data)
    labels = communities_of(genes, settings)
    found = compare(
        chosen_methods(settings.methods), genes.data.X, genes.data.y, task="classification",
        similarity=genes.phi, kernel=genes.kernel, screen=min(settings.screen, genes.data.X.shape[1]),
        size=settings.size, repeats=settings.repeats, test_size=settings.test_size, communities=labels,
        reference=OURS, random_state=running.seed, n_jobs=running.n_jobs, store=out / "repeats.jsonl",
        progress=running.verbose,
    )  # fmt: skip
    write_repeats(found, out)
    tables = {metric: against_ours(found, metric, settings.test_size) for metric in ("AUC", "log det")}
    save_figure(boxes_figure(found, tables), out, "figure2-boxes")
    tops = {name: top_genes(found, name, genes, settings.top) for name in (OURS, "OMP") if name in found.methods}
    write_table(pd.concat([top.assign(method=name) for name, top in tops.items()]), out, "top-genes")
    save_figure(networks_figure(tops, genes.kernel, edge_threshold(genes, settings)), out, "figure2-networks")
    parts = [summary_part(found, tables), *claims(tables), "![AUC and diversity](figure2-boxes.png)"]
    parts += [networks_part(tops), "![the genes chosen most often](figure2-networks.png)"]
    parts += communities_part(found, genes, labels, settings, data, out)
    write_results(out, "Figure 2: tumour stage I against II", [_about(genes, settings), *parts])


def load(settings: Settings, data: Any) -> Genes:
    """Patients of stages I and II without mixed aliquots, genes in BioGRID, and their similarity."""
    expression = load_tcga_brca(("I", "II"), mixed=False, in_biogrid=True, data_home=data)
    network = load_biogrid(data_home=data)
    entrez = expression.about_features["entrez"].astype(str)
    kernel = similarity.network_kernel(network, entrez, hubs=settings.hubs, bandwidth="mean")
    phi = similarity.from_network(network, entrez, hubs=settings.hubs, bandwidth="mean", rank=settings.rank)
    return Genes(expression, network, kernel, np.asarray(phi))


def communities_of(genes: Genes, settings: Settings) -> list[int | None]:
    """Communities of the genes in their network; the outcome is not used."""
    nodes = genes.network.locate(genes.data.about_features["entrez"].astype(str))
    return find_communities(genes.network.adjacency[nodes][:, nodes], settings.resolution, seed=0)


def edge_threshold(genes: Genes, settings: Settings) -> float:
    """The similarity exceeded by this fraction of all pairs of genes, from a sample of 1,000 genes."""
    M = len(genes.data.features)
    some = np.random.default_rng(0).choice(M, min(M, 1000), replace=False)
    values = genes.kernel.block(some, some)[np.triu_indices(len(some), k=1)]
    return float(np.quantile(values, 1 - settings.edge_share))


def top_genes(found: Comparison, method: str, genes: Genes, n: int) -> pd.DataFrame:
    """The genes that a method chose most often: position, name, times, and the sum of similarities to the others."""
    rows = found.selections[(found.selections["method"] == method) & found.selections["error"].isna()]
    times = np.bincount(np.concatenate([list(S) for S in rows["positions"]]), minlength=len(genes.data.features))
    S = np.argsort(-times, kind="stable")[:n]
    S = S[times[S] > 0]
    similarity_sum = genes.kernel.block(S, S).sum(axis=1) - 1.0
    names = [genes.data.features[i] for i in S]
    return pd.DataFrame({"position": S, "name": names, "times": times[S], "similarity": similarity_sum})


# --- words -------------------------------------------------------------------------------------------------------


def _about(genes: Genes, settings: Settings) -> str:
    N, M = genes.data.X.shape
    first, second = (int((genes.data.y == stage).sum()) for stage in ("I", "II"))
    return (
        f"{N} patients ({first} of stage I, {second} of stage II), {M:,} genes, of which each training part keeps "
        f"{min(settings.screen, M):,}; {settings.size} genes chosen by each method; {settings.repeats} repeats with "
        f"{settings.test_size:.0%} of the patients as test part."
    )


def summary_part(found: Comparison, tables: dict[str, pd.DataFrame]) -> str:
    """The table of all methods."""
    auc, det = tables["AUC"], tables["log det"]
    rest = found.summary()
    seconds = found.selections.groupby("method")["seconds"].median()
    hit = found.values("communities").mean()
    rows = [
        {"method": a.method, "AUC": f"{a.mean:.3f} ± {a.sd:.3f}",
         "minus ours": "" if a.method == OURS else f"{a.difference:+.3f} ± {a.error:.3f}",
         "log det, median (quartiles)": f"{d.median:.1f} ({d[6]:.1f} to {d[7]:.1f})",
         "p": p_text(d.p), "p paired": p_text(d[11]), "−∞": d.infinite, "communities": f"{hit[a.method]:.1f}",
         "stability": f"{rest.loc[a.method, 'stability']:.2f}", "s": f"{seconds[a.method]:.1f}"}
        for a, d in zip(auc.itertuples(), det.itertuples(), strict=True)
    ]  # fmt: skip
    return (
        f"{markdown(pd.DataFrame(rows))}\n\n"
        "AUC: mean ± sd over the repeats. Minus ours: mean difference on the same splits ± its standard error, "
        "corrected for the overlap of the splits (Nadeau and Bengio). log det: of the full kernel. p: rank-sum test "
        "against ours as in the paper, p paired: signed-rank test, both for log det and by Holm's method. −∞: sets in "
        "which two genes have the same distances to all hubs. Communities: hit by a set, mean. Stability: Nogueira's, "
        "1 for the same set each time. s: median seconds of a fit."
    )


def claims(tables: dict[str, pd.DataFrame]) -> list[str]:
    """The paper's two claims, with our numbers."""
    auc, det = (tables[metric].set_index("method") for metric in ("AUC", "log det"))
    paper = [name for name in BASELINES if name in det.index]
    if not paper:
        return []
    best = auc.loc[paper, "mean"].idxmax()
    above = all(det.loc[OURS, "median"] > det.loc[name, "median"] and det.loc[name, "p"] < 0.01 for name in paper)
    gap = auc.loc[best, "mean"] - auc.loc[OURS, "mean"]
    highest = det.loc[paper, "median"].idxmax()
    yes = {True: "yes", False: "no"}
    return [
        f"- log det of {OURS} above every baseline's median with p < 0.01 (rank sum, Holm): {yes[above]}; "
        f"median {det.loc[OURS, 'median']:.1f} against {det.loc[highest, 'median']:.1f} of the next, {highest} "
        f"(largest p {p_text(det.loc[paper, 'p'].max())}).\n"
        f"- Mean AUC not more than 0.02 below the best of the paper's baselines: {yes[bool(gap <= 0.02)]}; "
        f"{auc.loc[OURS, 'mean']:.3f} against {auc.loc[best, 'mean']:.3f} of {best}, so {-gap:+.3f} ± "
        f"{auc.loc[best, 'error']:.3f}."
    ]


def networks_part(tops: dict[str, pd.DataFrame]) -> str:
    """Similarity of the genes chosen most often."""
    lines = []
    for method, top in tops.items():
        mean = top["similarity"].sum() / (len(top) * max(len(top) - 1, 1))
        first = f"the first is {top['name'].iloc[0]}, chosen {top['times'].iloc[0]} times"
        lines.append(f"- {method}: mean similarity of two of its top {len(top)} genes {mean:.3f}; {first}.")
    return "\n".join(lines)


def communities_part(
    found: Comparison, genes: Genes, labels: list[int | None], settings: Settings, data: Any, out: Path
) -> list[str]:
    """Communities that our method hits more often than others, and the gene sets in which they are enriched."""
    members, table = enriched_members(genes, labels, data)
    shares = hit_shares(found, labels)
    shares = shares[[name for name in found.methods if name not in ("strict", "matched", "variegate", "panel")]]
    write_table(shares.assign(genes=[len(members[i]) for i in shares.index]).reset_index(), out, "communities")
    ours = {name: preferred(shares, name, settings.least_share) for name in shares}
    mine = table[table["community"].isin(ours[OURS]) & (table["q"] < settings.false_discoveries)]
    write_table(mine, out, "enrichment")
    among = [enriched_share(table, numbers, settings.false_discoveries) for numbers in (ours[OURS], list(members))]
    counts = ", ".join(f"{len(numbers)} by {name}" for name, numbers in ours.items())
    return [
        f"### Communities\n\n{len(members)} communities of at least two genes (Louvain, resolution "
        f"{settings.resolution:g}) hold {sum(map(len, members.values())):,} of the {len(labels):,} genes. Hit in at "
        f"least {settings.least_share:.0%} of the repeats, and more often than by any other method: {counts}. "
        f"Enriched in some Reactome or Hallmark set (q < {settings.false_discoveries}): {among[0]:.0%} of those of "
        f"{OURS}, {among[1]:.0%} of all communities.",
        markdown(_best_sets(mine, shares)) if len(mine) else "None of them is enriched in any set.",
    ]


def enriched_members(genes: Genes, labels: list[int | None], data: Any) -> tuple[dict[int, list[str]], pd.DataFrame]:
    """The genes of each community, and the gene sets in which communities are enriched."""
    symbols = genes.data.about_features["symbol_current"].fillna(genes.data.about_features["symbol"]).astype(str)
    members: dict[int, list[str]] = {}
    for symbol, label in zip(symbols, labels, strict=True):
        if label is not None:
            members.setdefault(label, []).append(symbol)
    return members, enrichment(members, list(symbols), _gene_sets(data))


def _gene_sets(data: Any) -> dict[str, tuple[str, ...]]:
    both = {kind: load_gene_sets(kind, data_home=data) for kind in ("reactome", "hallmark")}
    return {f"{kind}: {name}": members for kind, sets in both.items() for name, members in sets.items()}


def _best_sets(mine: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """For each community the three sets with the smallest q."""
    rows = []
    for number, group in mine.groupby("community"):
        others = shares.drop(columns=OURS).loc[number]
        named = "; ".join(
            f"{row.set} ({row.overlap} of {row[4]}, q {row.q:.1g})" for row in group.head(3).itertuples()
        )
        hit = f"{shares.loc[number, OURS]:.0%}"
        rows.append((number, group["genes"].iloc[0], hit, f"{others.max():.0%} ({others.idxmax()})", named))
    return pd.DataFrame(rows, columns=["community", "genes", "ours hits", "next", "sets"])
