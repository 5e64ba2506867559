"""Compare methods on the same splits, and selections on bootstraps, on one machine or on a cluster."""

from .compare import compare
from .frontier import OURS as OURS
from .frontier import Frontier, frontier
from .result import MEASURES, Comparison
from .runner import StoreError
from .runner import caught as caught
from .runner import is_done as is_done
from .runner import run_jobs as run_jobs
from .stability import StabilitySelection, stability_selection
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
