"""Small files of the same shape as the real data, made up: for machines that do not have these."""

import gzip

import numpy as np
import pandas as pd

from variegate.datasets import make_network_genes


def write_stand_ins(folder):
    """Write all that the experiments read; return the folder."""
    write_genes(folder)
    write_temperature(folder / "us_july_temperature")
    return folder


def write_genes(folder):
    """150 genes in ten modules, 100 patients of stages I and II and some that must be left out."""
    data = make_network_genes(110, 150, n_modules=10, n_true=4, snr=5.0, rng=0)
    entrez = np.arange(1000, 1150)
    patients = [f"P{i:03d}" for i in range(110)]
    stage = np.where(data.y == 1, "II", "I").astype(object)
    stage[100:105] = "III"
    tcga, biogrid = folder / "tcga_brca_rnaseq", folder / "biogrid_human"
    tcga.mkdir(parents=True)
    biogrid.mkdir()
    np.savez(
        tcga / "expression.npz",
        X=data.X.astype(np.float32) + 5, samples=patients, entrez=entrez, symbols=list(data.features),
    )  # fmt: skip
    names = list(data.features)
    genes = pd.DataFrame({"entrez": entrez, "symbol": names, "symbol_current": names, "in_biogrid": 1})
    genes.loc[149, "in_biogrid"] = 0
    genes.to_csv(tcga / "genes.csv.gz", index=False)
    clinical = pd.DataFrame({"patient": patients, "stage_group": stage, "possible_mixed_aliquots": 0})
    clinical.loc[105:, "possible_mixed_aliquots"] = 1
    clinical.to_csv(tcga / "clinical.csv.gz", index=False)
    node = dict(zip(names, entrez, strict=True))
    links = data.graph.adjacency.tocoo()
    ends = [np.array([node[data.graph.names[i]] for i in part]) for part in (links.row, links.col)]
    edges = pd.DataFrame({"entrez_a": ends[0], "entrez_b": ends[1], "in_v3_4_126": 1})
    edges[edges["entrez_a"] < edges["entrez_b"]].to_csv(biogrid / "edges.csv.gz", index=False)
    about = pd.DataFrame({"entrez": entrez, "symbol_biogrid": names, "symbol_current": names})
    about.to_csv(biogrid / "genes.csv.gz", index=False)
    write_gene_sets(folder / "gene_sets", data)


def write_gene_sets(folder, data):
    """Each module is a pathway, so that communities must be enriched in them."""
    folder.mkdir()
    names = np.array(data.features)
    modules = [f"module {g}\tR-{g}\t" + "\t".join(names[data.groups == g]) for g in range(10)]
    mixed = [f"MIXED {i}\turl\t" + "\t".join(names[i::15]) for i in range(3)]
    for name, lines in (("reactome_2024-09-18.gmt.gz", modules), ("hallmark_v6.2.gmt.gz", mixed)):
        (folder / name).write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


def write_temperature(folder):
    """900 stations over the same longitudes and latitudes, 476 of them in the sample; a smooth field."""
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-120, -75, 900), rng.uniform(30, 48, 900)
    field = 40 - 0.5 * lat - 5 * np.exp(-((lon + 108) ** 2 + (lat - 39) ** 2) / 30) + 0.5 * rng.standard_normal(900)
    folder.mkdir()
    pd.DataFrame(
        {"station_id": [f"S{i}" for i in range(900)], "lon": lon, "lat": lat, "july_tavg_c": field,
         "sample476": (np.arange(900) < 476).astype(int)}
    ).to_csv(folder / "us_stations_july.csv.gz", index=False)  # fmt: skip
