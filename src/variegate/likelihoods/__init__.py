"""p(y | γ): what a set of features is worth, coefficients integrated out."""

from ..types import FloatArray, IntArray
from .combined import SumLikelihood
from .custom import CustomLikelihood
from .gaussian import Gaussian
from .grouped import Grouped
from .logistic import Logistic
from .protocol import (
    AugmentedLikelihood,
    Coefficients,
    ExchangeLikelihood,
    ExpandedLikelihood,
    FlipGains,
    FlipLikelihood,
    GainsLikelihood,
    Likelihood,
    Predictive,
    PredictiveLikelihood,
    QuadraticForm,
    QuadraticLikelihood,
)

__all__ = [
    "AugmentedLikelihood",
    "Coefficients",
    "CustomLikelihood",
    "ExchangeLikelihood",
    "ExpandedLikelihood",
    "FlipGains",
    "FlipLikelihood",
    "FloatArray",
    "GainsLikelihood",
    "Gaussian",
    "Grouped",
    "IntArray",
    "Likelihood",
    "Logistic",
    "Predictive",
    "PredictiveLikelihood",
    "QuadraticForm",
    "QuadraticLikelihood",
    "SumLikelihood",
]
