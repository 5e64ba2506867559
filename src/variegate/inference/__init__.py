"""From the target to a posterior: exact chains, and the paper's variational methods."""

from .chain.sample import ChainSettings, Hyperparameters, Sample, sample
from .fit import Fit, Settings, fit
from .gibbs import PosteriorSample, sample_posterior
from .progress import ConvergenceWarning, Progress
from .target import Target

__all__ = [
    "ChainSettings",
    "ConvergenceWarning",
    "Fit",
    "Hyperparameters",
    "PosteriorSample",
    "Progress",
    "Sample",
    "Settings",
    "Target",
    "fit",
    "sample",
    "sample_posterior",
]
