"""Simulators with known true features, and loaders for real data."""

from .blocks import make_blocks
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
from .finemapping import load_finemapping
from .genes import load_biogrid, load_gene_sets, load_tcga_brca, load_tcga_survival
from .network_genes import make_network_genes
from .simulation import Simulation
from .spatial import make_spatial_field
from .temperature import gaussian_bumps, load_july_temperature
from .toy import Toy, make_toy

__all__ = [
    "Dataset",
    "Simulation",
    "Toy",
    "gaussian_bumps",
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
    "make_blocks",
    "make_network_genes",
    "make_spatial_field",
    "make_toy",
]
