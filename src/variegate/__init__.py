"""Bayesian feature selection whose answer is a diverse set of predictive features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison.compare import compare
    from .comparison.frontier import frontier
    from .comparison.stability import stability_selection
    from .comparison.validate import validate
    from .dpp import IndependentSets, LowRankDPP
    from .estimators import DiverseClassifier, DiverseCounts, DiverseRegressor, DiverseSurvival
    from .inference import (
        ChainSettings,
        ConvergenceWarning,
        Sample,
        Target,
        sample,
    )
    from .likelihoods import (
        Cox,
        CustomLikelihood,
        Gaussian,
        Laplace,
        Logistic,
        NegativeBinomial,
        Poisson,
    )
    from .panels import Panel, panel
    from .posterior import Posterior
    from .priors import bernoulli_prior, dpp_prior
    from .report import write_report
    from .run import Run
    from .saving import load, save

__all__ = [
    "ChainSettings",
    "ConvergenceWarning",
    "Cox",
    "CustomLikelihood",
    "DiverseClassifier",
    "DiverseCounts",
    "DiverseRegressor",
    "DiverseSurvival",
    "Gaussian",
    "IndependentSets",
    "Laplace",
    "Logistic",
    "LowRankDPP",
    "NegativeBinomial",
    "Panel",
    "Poisson",
    "Posterior",
    "Run",
    "Sample",
    "Target",
    "baselines",
    "bernoulli_prior",
    "compare",
    "data",
    "datasets",
    "dpp_prior",
    "frontier",
    "load",
    "metrics",
    "panel",
    "paper",
    "sample",
    "save",
    "screening",
    "similarity",
    "stability_selection",
    "tasks",
    "validate",
    "write_report",
]
__version__ = "0.2.0"

# imported on first use: numba, pandas and scikit-learn take a second, and `variegate --help` needs none of them
_ROOMS = {"baselines", "data", "datasets", "metrics", "paper", "screening", "similarity", "tasks"}
_NAMES = {
    "comparison": ("compare", "frontier", "stability_selection", "validate"),
    "dpp": ("IndependentSets", "LowRankDPP"),
    "estimators": ("DiverseClassifier", "DiverseCounts", "DiverseRegressor", "DiverseSurvival"),
    "inference": (
        "ChainSettings",
        "ConvergenceWarning",
        "Sample",
        "Target",
        "sample",
    ),
    "likelihoods": (
        "Cox",
        "CustomLikelihood",
        "Gaussian",
        "Laplace",
        "Logistic",
        "NegativeBinomial",
        "Poisson",
    ),
    "panels": ("Panel", "panel"),
    "posterior": ("Posterior",),
    "priors": ("bernoulli_prior", "dpp_prior"),
    "report": ("write_report",),
    "run": ("Run",),
    "saving": ("load", "save"),
}
_ROOM_OF = {name: room for room, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name in _ROOM_OF:
        return getattr(import_module(f".{_ROOM_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
