"""Bayesian feature selection whose answer is a diverse set of predictive features."""

from importlib import import_module
from typing import Any

from .dpp import IndependentSets, LowRankDPP
from .inference import ConvergenceWarning, Fit, Settings, Target, fit, sample_posterior
from .likelihoods import CustomLikelihood, Gaussian, Logistic, SumLikelihood
from .posterior import Posterior
from .priors import bernoulli_prior, dpp_prior

__all__ = [
    "ConvergenceWarning",
    "CustomLikelihood",
    "DiverseClassifier",
    "DiverseRegressor",
    "Fit",
    "Gaussian",
    "IndependentSets",
    "Logistic",
    "LowRankDPP",
    "Posterior",
    "Settings",
    "SumLikelihood",
    "Target",
    "baselines",
    "bernoulli_prior",
    "compare",
    "data",
    "datasets",
    "dpp_prior",
    "fit",
    "load",
    "metrics",
    "sample_posterior",
    "save",
    "screening",
    "similarity",
    "stability_selection",
    "write_report",
]
__version__ = "0.1.0.dev0"

# rooms that read tables bring pandas with them, or scikit-learn, which takes a second: they are opened on first use
_LAZY = {"baselines", "data", "datasets", "metrics", "screening", "similarity"}
# so does scikit-learn
_LAZY_NAMES = {
    "DiverseClassifier": "estimators",
    "DiverseRegressor": "estimators",
    "compare": "comparison",
    "load": "saving",
    "save": "saving",
    "stability_selection": "comparison",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f".{name}", __name__)
    if name in _LAZY_NAMES:
        return getattr(import_module(f".{_LAZY_NAMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
