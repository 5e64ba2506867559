"""Bayesian feature selection whose answer is a diverse set of predictive features."""

__version__ = "0.1.0.dev0"
