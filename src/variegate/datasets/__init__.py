"""Simulators with known true features."""

from .blocks import make_blocks
from .network_genes import make_network_genes
from .simulation import Simulation
from .spatial import gaussian_bumps, make_spatial_field

__all__ = [
    "Simulation",
    "gaussian_bumps",
    "make_blocks",
    "make_network_genes",
    "make_spatial_field",
]
