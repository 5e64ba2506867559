"""The grid of hyperparameters that are averaged over: the prior's expected size and the slab precision.

The slab precision c is parametrised by the fraction R² of the variance that s features explain (Giannone, Lenza &
Primiceri 2021), so that size and shrinkage are not confounded: s/c is the variance of the predictor and v that of the
noise, R² = (s/c) / (s/c + v), uniform. Sizes have p(s) ∝ 1/s².
"""

from typing import NamedTuple, cast

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logit

from ...dpp import SizeLaw
from ...likelihoods import QuadraticLikelihood
from ...types import FloatArray
from ..target import Target
from .problem import Grid
from .settings import ChainSettings

SIZE_STEP, SLAB_STEP = 0.25, 0.5  # spacing of the grid, in logs
SMALLEST_SIZE = 0.1  # smallest expected size of the prior
LARGEST_SHARE = 0.5  # largest expected size of the prior, as a fraction of the largest possible set
# Range of R². Spectra need c near 10⁻⁵: with R² limited to 0.98, predictions on tecator score .929 instead of .965.
EXPLAINED = (1e-4, 1 - 1e-7)


class PriorSizes(NamedTuple):
    """The distribution of |S| under the prior, including features that were left out.

    Few of those are in any set, so their similarity hardly matters: they are treated as independent.
    """

    law: SizeLaw
    others: int
    log_other: float  # log-odds of each feature that is left out

    @classmethod
    def of(cls, target: Target) -> "PriorSizes":
        """The sizes of a target's prior."""
        return cls(target.prior.size_law, target.others, target.prior_shift if target.others else 0.0)

    def expected(self, t: float) -> float:
        """Expected size with t added to the log-odds."""
        return self.law.expected(t) + self.others * float(expit(self.log_other + t))

    def log_normalizer(self, t: float) -> float:
        """Log normaliser with t added to the log-odds."""
        return self.law.log_normalizer(t) + self.others * float(np.logaddexp(0.0, self.log_other + t))

    def shift(self, size: float) -> float:
        """The t that gives this expected size."""
        if not self.others:
            return self.law.shift(size)
        middle = float(np.log(size / (self.others + self.law.rank))) - self.log_other
        low, high = middle - 50.0, middle + 50.0
        while self.expected(low) > size:
            low -= high - low
        while self.expected(high) < size:
            high += high - low
        return float(brentq(_excess, low, high, args=(self, size), xtol=1e-12))


def _excess(t: float, sizes: PriorSizes, size: float) -> float:
    return sizes.expected(t) - size


def grid_of(target: Target, settings: ChainSettings) -> Grid:
    """The hyperparameters that are averaged over; one that is not has a single point, the target's value."""
    prior = PriorSizes.of(target)
    log_kappa = _log_kappa(prior) if settings.average_size and target.size is None else np.zeros(1)
    log_normalizer = np.array([_log_normalizer(target, prior, float(t)) for t in log_kappa])
    log_size = np.log([target.size or prior.expected(float(t)) for t in log_kappa])
    given = np.log([target.slab_precision or 1.0])
    log_c, log_prior = given, np.zeros((len(log_kappa), 1))
    if settings.average_slab:
        noise_variance = cast(QuadraticLikelihood, target.outcomes[0]).noise_variance
        columns = float(np.mean(target.widths))  # per feature
        log_c = _log_slab(log_size + np.log(columns), noise_variance)
        # −logit R²: s features have s·columns coefficients, each of variance 1/c
        x = log_c - (log_size + np.log(columns))[:, None] + np.log(noise_variance)
        density = log_expit(x) + log_expit(-x)
        log_prior = density - np.logaddexp.reduce(density, axis=1)[:, None]
    if len(log_kappa) > 1:
        log_prior = log_prior - log_size[:, None]  # p(s) ∝ 1/s² on a grid evenly spaced in log s
    if target.others and target.size is None:
        log_prior += _log_others(target, log_kappa, log_c)
    return Grid(log_kappa, log_normalizer, log_c, log_prior)


def _log_normalizer(target: Target, prior: PriorSizes, t: float) -> float:
    """Log normaliser of the prior with t added to its log-odds, including the nugget for mean field."""
    if target.diversity == 1 and target.volume.nugget > 0 and target.size is None and not target.others:
        return target.with_prior(target.prior.shifted(t)).prior_log_normalizer
    return prior.log_normalizer(t)


def _log_others(target: Target, log_kappa: FloatArray, log_c: FloatArray) -> FloatArray:
    """Contribution of features that were left out to the log evidence of hyperparameters (I, J).

    Each of them is improbable, but together a million of them inform the expected size.
    """
    one = log_kappa[:, None] + target.prior_shift + target.others_ratio.log_at(log_c)
    return np.asarray(target.others * np.logaddexp(0.0, one))


def _log_kappa(prior: PriorSizes) -> np.ndarray:
    rank = prior.law.rank
    most = max(LARGEST_SHARE * rank, 2 * SMALLEST_SIZE)
    n = int(np.ceil(np.log(most / SMALLEST_SIZE) / SIZE_STEP)) + 1
    sizes = np.minimum(SMALLEST_SIZE * np.exp(SIZE_STEP * np.arange(n)), prior.law.largest_expected)
    return np.array([prior.shift(float(s)) for s in sizes])


def _log_slab(log_size: np.ndarray, noise_variance: float) -> np.ndarray:
    low = log_size[0] - np.log(noise_variance) - logit(EXPLAINED[1])
    high = log_size[-1] - np.log(noise_variance) - logit(EXPLAINED[0])
    return np.asarray(np.arange(low, high + SLAB_STEP, SLAB_STEP))
