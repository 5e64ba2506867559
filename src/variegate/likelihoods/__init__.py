"""p(y | γ): what a set of features is worth, coefficients integrated out."""

from ..types import FloatArray, IntArray
from .combined import SumLikelihood
from .counts import NegativeBinomial, Poisson
from .custom import CustomLikelihood
from .gaussian import Gaussian
from .grouped import Grouped
from .laplace import Laplace
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
from .survival import Cox
from .terms import Derivatives, Terms

__all__ = [
    "AugmentedLikelihood",
    "Coefficients",
    "Cox",
    "CustomLikelihood",
    "Derivatives",
    "ExchangeLikelihood",
    "ExpandedLikelihood",
    "FlipGains",
    "FlipLikelihood",
    "FloatArray",
    "GainsLikelihood",
    "Gaussian",
    "Grouped",
    "IntArray",
    "Laplace",
    "Likelihood",
    "Logistic",
    "NegativeBinomial",
    "Poisson",
    "Predictive",
    "PredictiveLikelihood",
    "QuadraticForm",
    "QuadraticLikelihood",
    "SumLikelihood",
    "Terms",
]
