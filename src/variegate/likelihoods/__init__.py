"""p(y | γ): what a set of features is worth, coefficients integrated out."""

from .combined import SumLikelihood
from .custom import CustomLikelihood
from .gaussian import Gaussian
from .grouped import Grouped
from .logistic import Logistic
from .protocol import (
    Coefficients,
    ConditionallyGaussian,
    ExchangeLikelihood,
    FlipGains,
    FlipLikelihood,
    FloatArray,
    GainsLikelihood,
    IntArray,
    Likelihood,
    Predictive,
    PredictiveLikelihood,
    QuadraticForm,
)

__all__ = [
    "Coefficients",
    "ConditionallyGaussian",
    "CustomLikelihood",
    "ExchangeLikelihood",
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
    "SumLikelihood",
]
