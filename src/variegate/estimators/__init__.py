"""scikit-learn estimators: thin, and the only home of defaults."""

from .classifier import DiverseClassifier
from .regressor import DiverseRegressor
from .selector import EmptySelectionWarning

__all__ = ["DiverseClassifier", "DiverseRegressor", "EmptySelectionWarning"]
