"""From the target to a posterior: exact chains, and the paper's variational methods."""

from .chain.sample import ChainSettings, Hyperparameters, Sample, sample
from .progress import ConvergenceWarning, Progress
from .target import Target
from .variational.fit import Settings, fit
from .variational.result import Fit

__all__ = [
    "ChainSettings",
    "ConvergenceWarning",
    "Fit",
    "Hyperparameters",
    "Progress",
    "Sample",
    "Settings",
    "Target",
    "fit",
    "sample",
]
