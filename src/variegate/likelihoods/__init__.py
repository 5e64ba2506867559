"""p(y | γ): the evidence for a set of features, with the coefficients integrated out."""

from .approximate import SHARED as SHARED
from .augmentation import pick as pick
from .augmentation import window as window
from .auxiliary import Auxiliary as Auxiliary
from .checks import OUT as OUT
from .checks import check_counts as check_counts
from .checks import check_times as check_times
from .checks import covariate_table as covariate_table
from .checks import new_rows as new_rows
from .checks import sample_weights as sample_weights
from .checks import table as table
from .counts import NegativeBinomial, Poisson
from .counts import PoissonTerms as PoissonTerms
from .counts import count_law as count_law
from .custom import CustomLikelihood
from .form import Factor as Factor
from .form import Form, Noise
from .form import Neighbours as Neighbours
from .form import Solution as Solution
from .form import compiled_gain as compiled_gain
from .form import factorise as factorise
from .form import gain as gain
from .gaussian import Gaussian
from .laplace import Laplace
from .logistic import Logistic
from .protocol import (
    Coefficients,
    FlipGains,
    GainsLikelihood,
    Likelihood,
    Predictive,
    QuadraticLikelihood,
)
from .protocol import Predictor as Predictor
from .survival import Cox
from .survival import CoxTerms as CoxTerms
from .survival import checked_times as checked_times
from .terms import Derivatives, Terms
from .terms import Expected as Expected
from .terms import Logits as Logits
from .terms import Softmax as Softmax
from .terms import Squares as Squares
from .terms import fitted_coefficients as fitted_coefficients
from .terms import fitted_predictor as fitted_predictor
from .unsettled import EvidenceWarning
from .unsettled import end_of_fit as end_of_fit
from .unsettled import unsettled_of as unsettled_of

__all__ = [
    "Coefficients",
    "Cox",
    "CustomLikelihood",
    "Derivatives",
    "EvidenceWarning",
    "FlipGains",
    "Form",
    "GainsLikelihood",
    "Gaussian",
    "Laplace",
    "Likelihood",
    "Logistic",
    "NegativeBinomial",
    "Noise",
    "Poisson",
    "Predictive",
    "QuadraticLikelihood",
    "Terms",
]
