"""scikit-learn estimators: thin, and the only home of defaults."""

from .classifier import DiverseClassifier
from .counts import DiverseCounts
from .regressor import DiverseRegressor
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
