"""Bayesian feature selection whose answer is a diverse set of predictive features."""

from .dpp import IndependentSets, LowRankDPP

__all__ = ["IndependentSets", "LowRankDPP"]
__version__ = "0.1.0.dev0"
