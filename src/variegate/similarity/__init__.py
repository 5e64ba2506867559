"""Similarity features Φ: rows of unit length, whose inner products say how similar two features are."""

from .annotations import from_annotations
from .columns import factor_of_correlations as factor_of_correlations
from .columns import from_columns
from .coordinates import from_coordinates
from .factorise import item_names as item_names
from .features import SimilarityFeatures, SimilarityWarning
from .features import unit_rows as unit_rows
from .kernel import from_kernel
from .labels import from_labels
from .labels import group_codes as group_codes
from .network import from_network, network_kernel
from .positions import Positions, from_positions

__all__ = [
    "Positions",
    "SimilarityFeatures",
    "SimilarityWarning",
    "from_annotations",
    "from_columns",
    "from_coordinates",
    "from_kernel",
    "from_labels",
    "from_network",
    "from_positions",
    "network_kernel",
]
