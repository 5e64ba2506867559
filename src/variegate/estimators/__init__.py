"""scikit-learn estimators: a thin facade over `inference`."""

from .classifier import DiverseClassifier
from .counts import DiverseCounts
from .progress import ProgressLine as ProgressLine
from .progress import clock as clock
from .regressor import DiverseRegressor
from .selector import DiverseSelector as DiverseSelector
from .selector import EmptySelectionWarning
from .survival import DiverseSurvival

ESTIMATORS = {  # by task
    "regression": DiverseRegressor,
    "classification": DiverseClassifier,
    "survival": DiverseSurvival,
    "counts": DiverseCounts,
}

__all__ = [
    "ESTIMATORS",
    "DiverseClassifier",
    "DiverseCounts",
    "DiverseRegressor",
    "DiverseSurvival",
    "EmptySelectionWarning",
]
