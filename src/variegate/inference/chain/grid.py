"""Hyperparameters that are averaged over with the sets: the prior's expected size and the slab precision.

The slab precision c is parametrised by the share R² of the variance that s features explain (Giannone, Lenza &
Primiceri 2021), so that size and shrinkage do not trade off unseen: s/c is the variance of the predictor and v that
of the noise, R² = (s/c) / (s/c + v), uniform. Sizes have p(s) ∝ 1/s².
"""

import numpy as np
from scipy.special import log_expit, logit

from ...dpp.poisson_binomial import shift_for_size
from ..target import Target
from .problem import Grid

SIZE_STEP, SLAB_STEP = 0.25, 0.5  # in logs
SMALLEST_SIZE = 0.1
LARGEST_SHARE = 0.5  # of the features that fit in a set together, for the prior's expected size
# Shares of the variance that features may explain. Spectra need c near 10⁻⁵: with an R² of 0.98 at most, predictions
# of tecator score .929 instead of .965.
EXPLAINED = (1e-4, 1 - 1e-7)


def hyperparameter_grid(target: Target, noise_variance: float, *, average_size: bool, average_slab: bool) -> Grid:
    """The grid of what is averaged over; what is not is a grid of one point, the target's own value."""
    log_lambda = target.prior.log_eigenvalues
    log_kappa = _log_kappa(target, log_lambda) if average_size and target.size is None else np.zeros(1)
    log_normalizer = np.array([_log_normalizer(target, log_lambda, float(t)) for t in log_kappa])
    if target.size is None:
        log_size = np.log([np.sum(1.0 / (1.0 + np.exp(-np.clip(log_lambda + t, -700, 700)))) for t in log_kappa])
    else:
        log_size = np.log([float(target.size)])
    given = np.log([target.slab_precision or 1.0])
    columns = float(np.mean(getattr(target.likelihood, "widths", 1.0)))  # of a feature
    log_c = _log_slab(log_size + np.log(columns), noise_variance) if average_slab else given
    log_prior = np.zeros((len(log_kappa), len(log_c)))
    if len(log_kappa) > 1:
        log_prior -= log_size[:, None]  # 1/s² on a grid that is even in log s
    if len(log_c) > 1:
        # −logit R²: s features have s·columns coefficients, each of variance 1/c
        x = log_c - (log_size + np.log(columns))[:, None] + np.log(noise_variance)
        density = log_expit(x) + log_expit(-x)
        log_prior += density - np.logaddexp.reduce(density, axis=1)[:, None]
    return Grid(log_kappa, log_normalizer, log_c, log_prior)


def _log_normalizer(target: Target, log_lambda: np.ndarray, t: float) -> float:
    """Log Σ_S of the prior with t added to its log-odds, the nugget that mean field needs included."""
    if target.prior_has_volume and target.volume.nugget > 0 and target.size is None:
        return target.with_prior(target.prior.shifted(t)).prior_log_normalizer
    return float(np.logaddexp(0.0, log_lambda + t).sum())


def _log_kappa(target: Target, log_lambda: np.ndarray) -> np.ndarray:
    most = max(LARGEST_SHARE * len(log_lambda), 2 * SMALLEST_SIZE)
    n = int(np.ceil(np.log(most / SMALLEST_SIZE) / SIZE_STEP)) + 1
    sizes = np.minimum(SMALLEST_SIZE * np.exp(SIZE_STEP * np.arange(n)), 0.9 * len(log_lambda))
    return np.array([shift_for_size(log_lambda, float(s)) for s in sizes])


def _log_slab(log_size: np.ndarray, noise_variance: float) -> np.ndarray:
    low = log_size[0] - np.log(noise_variance) - logit(EXPLAINED[1])
    high = log_size[-1] - np.log(noise_variance) - logit(EXPLAINED[0])
    return np.asarray(np.arange(low, high + SLAB_STEP, SLAB_STEP))
