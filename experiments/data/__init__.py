"""Loaders of the real data that the experiments, benchmarks and tests use."""

from .classic import (
    load_colon,
    load_communities_crime,
    load_diabetes,
    load_gasoline,
    load_leukemia,
    load_prostate,
    load_tecator,
)
from .dataset import Dataset
from .files import VARIABLE, data_home
from .finemapping import load_finemapping
from .genes import load_biogrid, load_gene_sets, load_tcga_brca, load_tcga_survival
from .temperature import load_july_temperature

__all__ = [
    "VARIABLE",
    "Dataset",
    "data_home",
    "load_biogrid",
    "load_colon",
    "load_communities_crime",
    "load_diabetes",
    "load_finemapping",
    "load_gasoline",
    "load_gene_sets",
    "load_july_temperature",
    "load_leukemia",
    "load_prostate",
    "load_tcga_brca",
    "load_tcga_survival",
    "load_tecator",
]
