"""The paper's methods: Algorithm 1, the best q by the ELBO, and their estimators."""

from .algorithm_1 import algorithm_1
from .empirical_bayes import empirical_bayes
from .estimators import VariationalClassifier, VariationalRegressor
from .fit import Fit
from .natural_gradient import natural_gradient

__all__ = [
    "Fit",
    "VariationalClassifier",
    "VariationalRegressor",
    "algorithm_1",
    "empirical_bayes",
    "natural_gradient",
]
