"""Breast cancer expression, gene interactions and gene sets: the paper's first experiment."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from variegate.data import Network, UnreadableInput, network_from_edges, read_biogrid, read_gene_sets, unambiguous
from variegate.types import SURVIVAL

from .dataset import Dataset
from .files import Folder, locate, read_frame
from .files import data_home as home

_GENE_SETS = {"reactome": "reactome_2024-09-18.gmt.gz", "hallmark": "hallmark_v6.2.gmt.gz"}


def load_tcga_brca(
    stages: Collection[str] = ("I", "II"),
    *,
    mixed: bool = False,
    in_biogrid: bool = False,
    data_home: Folder = None,
) -> Dataset:
    """Load TCGA breast cancer expression (log2 RSEM) and tumour stage.  Paper: section 5.1.

    Parameters
    ----------
    stages : which of "I", "II", "III", "IV", "X" to keep; ("I", "II") is the paper's comparison
    mixed : True keeps the patients whose normal and tumour tissue were averaged by the source (556 patients
        instead of 486 in stages I and II); not recommended
    in_biogrid : True keeps the 4,945 of 6,000 genes that are in BioGRID
    data_home : folder with `tcga_brca_rnaseq/`; None: the environment variable VARIEGATE_DATA

    Features are gene symbols; `about_features` has their Entrez ids, `about_samples` the clinical table.

    >>> found = load_tcga_brca()  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    with np.load(locate("tcga_brca_rnaseq/expression.npz", data_home)) as arrays:
        X, patients = arrays["X"], arrays["samples"].tolist()
    genes = read_frame("tcga_brca_rnaseq/genes.csv.gz", data_home)
    clinical = read_frame("tcga_brca_rnaseq/clinical.csv.gz", data_home).set_index("patient").loc[patients]
    unknown = set(stages) - set(clinical["stage_group"].dropna())
    if unknown or not stages:
        raise ValueError(f"stages must be among I, II, III, IV and X, got {sorted(stages)}")
    rows = clinical["stage_group"].isin(list(stages)).to_numpy()
    if not mixed:
        rows &= (clinical["possible_mixed_aliquots"] == 0).to_numpy()
    columns = (genes["in_biogrid"] == 1).to_numpy() if in_biogrid else np.ones(len(genes), dtype=bool)
    genes, clinical = genes[columns].reset_index(drop=True), clinical[rows]
    return Dataset(
        X=X[np.ix_(rows, columns)],
        y=clinical["stage_group"].to_numpy(str),
        features=tuple(genes["symbol"]),
        samples=tuple(clinical.index),
        about_features=genes,
        about_samples=clinical,
    )


def load_tcga_survival(*, mixed: bool = False, in_biogrid: bool = False, data_home: Folder = None) -> Dataset:
    """Load TCGA breast cancer expression and overall survival in days, patients of all stages.

    `y` has the fields event (death), time (days until death or last follow-up), entry and stratum, as
    `DiverseSurvival` takes it; patients without a time are left out. Other arguments are those of `load_tcga_brca`.

    >>> found = load_tcga_survival()  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    stages = ("I", "II", "III", "IV", "X")
    found = load_tcga_brca(stages, mixed=mixed, in_biogrid=in_biogrid, data_home=data_home)
    clinical = found.about_samples
    died = (clinical["vital_status"].str.lower() == "dead").to_numpy()
    days = clinical["days_to_death"].where(died, clinical["days_to_last_followup"]).to_numpy(np.float64)
    rows = np.flatnonzero(days > 0)
    y = np.zeros(len(rows), dtype=SURVIVAL)
    y["event"], y["time"], y["entry"] = died[rows], days[rows], -np.inf
    samples = tuple(found.samples[i] for i in rows)
    return replace(found, X=found.X[rows], y=y, samples=samples, about_samples=clinical.iloc[rows])


def load_biogrid(*, strict: bool = False, data_home: Folder = None) -> Network:
    """Load the human gene interactions of BioGRID.

    Nodes are Entrez ids, symbols are aliases. Match genes by Entrez id, since symbols change.

    Parameters
    ----------
    strict : True keeps the 144,373 of 167,686 interactions that are also in a second, physical-only copy
    data_home : folder with `biogrid_human/`; None: the environment variable VARIEGATE_DATA. If there is an
        official download (BIOGRID-….tab2.txt or .tab3.txt, possibly gzipped) and no `edges.csv.gz`, the
        physical interactions of the download are read

    >>> found = load_biogrid()  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    folder = home(data_home) / "biogrid_human"
    official = sorted(folder.glob("BIOGRID-*.tab[23].txt*"))
    if official and not (folder / "edges.csv.gz").is_file():
        return read_biogrid(official[-1], names="entrez")
    edges = read_frame("biogrid_human/edges.csv.gz", data_home)
    genes = read_frame("biogrid_human/genes.csv.gz", data_home)
    if strict:
        edges = edges[edges["in_v3_4_126"] == 1]
    ids = genes["entrez"].astype(str)
    # if BioGRID's symbol of one gene is the current symbol of another, BioGRID's wins
    aliases = unambiguous(zip(genes["symbol_current"].fillna(""), ids, strict=True))
    aliases |= unambiguous(zip(genes["symbol_biogrid"], ids, strict=True))
    a, b = (edges[end].astype(str).to_numpy(object) for end in ("entrez_a", "entrez_b"))
    return network_from_edges(a, b, aliases)


def load_gene_sets(name: str = "reactome", *, data_home: Folder = None) -> dict[str, tuple[str, ...]]:
    """Load gene sets, name → gene symbols: "reactome" (2,694 pathways) or "hallmark" (50 MSigDB sets).

    >>> found = load_gene_sets()  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    if name not in _GENE_SETS:
        raise UnreadableInput(
            f"name must be one of {', '.join(_GENE_SETS)}, got {name!r}; for a file use read_gene_sets"
        )
    return read_gene_sets(locate(f"gene_sets/{_GENE_SETS[name]}", data_home))
