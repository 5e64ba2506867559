"""How q is fitted to the posterior: the default solver, the printed algorithm, and an exact reference."""

from .fit import ConvergenceWarning, Fit, Settings, fit
from .gibbs import PosteriorSample, sample_posterior
from .rao_blackwell import Progress
from .target import Target

__all__ = [
    "ConvergenceWarning",
    "Fit",
    "PosteriorSample",
    "Progress",
    "Settings",
    "Target",
    "fit",
    "sample_posterior",
]
