"""Compare methods on the same splits, and selections on bootstraps, on one machine or on a cluster."""

from .compare import compare
from .frontier import OURS as OURS
from .frontier import Frontier, frontier
from .result import MEASURES, Comparison
from .stability import StabilitySelection, stability_selection
from .store import StoreError
from .validate import validate

__all__ = [
    "MEASURES",
    "Comparison",
    "Frontier",
    "StabilitySelection",
    "StoreError",
    "compare",
    "frontier",
    "stability_selection",
    "validate",
]
