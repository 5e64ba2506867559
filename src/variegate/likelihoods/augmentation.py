"""Auxiliary variables given which a two-class likelihood is Gaussian.

Logit (Polson, Scott & Windle 2013): with ω_i ~ PG(w_i, η_i), the Pólya-Gamma law,

    σ(s_iη_i)^{w_i} ∝ E exp(w_i s_i η_i/2 − ω_iη_i²/2):  precision ω_i, information w_i s_i/2,  s_i = ±1.

Probit (Albert & Chib 1993): z_i ~ N(η_i, 1) given its sign s_i: precision w_i, information the sum of w_i such draws,
so weights must be whole numbers.
"""

from typing import NamedTuple

import numpy as np
from polyagamma import random_polyagamma  # type: ignore[import-untyped]
from scipy.special import log_expit, log_ndtr, ndtri_exp

from ..types import FloatArray, IntArray
from .auxiliary import Auxiliary
from .form import factorise

WINDOW = 8  # values of a hyperparameter among which one is drawn
SERIES = 20  # terms of the Pólya-Gamma series; see `polya_gamma`
FAR = 100.0  # |η| above which a Pólya-Gamma variable is inverse Gaussian to all digits; see `polya_gamma`


class Predictor(NamedTuple):
    """The linear predictor η of drawn coefficients, and what is needed to scale it.

    With all coefficients times λ and the slab precision c over λ², the slab's density and the volume element cancel;
    what remains is the likelihood of λη, and the prior of the fixed coefficients, which does not depend on c.
    """

    eta: FloatArray  # (N,)
    n_fixed: int
    squares: float  # Σ δ²/variance of the fixed coefficients
    signs: FloatArray  # (N,)
    weights: FloatArray  # (N,)
    probit: bool

    def log_densities(self, scales: FloatArray) -> FloatArray:
        """Log density for each λ (J,), up to a constant. O(JN)."""
        margin, log_cdf = self.signs * self.eta, log_ndtr if self.probit else log_expit
        likelihood = log_cdf(scales[:, None] * margin) @ self.weights
        return np.asarray(likelihood - 0.5 * self.squares * np.square(scales) + self.n_fixed * np.log(scales))

    def auxiliary(self, scale: float, rng: np.random.Generator) -> Auxiliary:
        """Draw new auxiliary variables given λη."""
        return draw(scale * self.eta, self.signs, self.weights, self.probit, rng)


def draw_coefficients(Zt: FloatArray, prior: FloatArray, given: Auxiliary, rng: np.random.Generator) -> FloatArray:
    """Draw coefficients (k,) of the rows of Zt (k, N), with prior precisions `prior` (k,)."""
    factor = factorise((Zt * given.precision) @ Zt.T, Zt @ given.information, prior)
    return factor._replace(u=factor.u + rng.standard_normal(len(prior))).mean()


def draw(
    predictor: FloatArray, signs: FloatArray, weights: FloatArray, probit: bool, rng: np.random.Generator
) -> Auxiliary:
    """Draw auxiliary variables given the linear predictor (N,)."""
    if probit:
        return Auxiliary(weights, signs * _truncated_sums(signs * predictor, weights.astype(np.int64), rng))
    return Auxiliary(polya_gamma(weights, predictor, rng), 0.5 * weights * signs)


def pick(log_weights: FloatArray, rng: np.random.Generator) -> int:
    """Draw a position with the given log weights."""
    total = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(total, rng.random() * total[-1], side="right"))


def window(at: int, length: int, rng: np.random.Generator) -> slice:
    """A random window of up to WINDOW grid positions with `at` among them; equally probable from each of them."""
    start = at - int(WINDOW * rng.random())
    return slice(max(start, 0), min(start + WINDOW, length))


def polya_gamma(weights: FloatArray, predictor: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw from PG(w_i, η_i) (N,): for weight 1 by polyagamma, for others by the series, for large |η| as ¼ IG.

    PG(w, η) = (2π²)⁻¹ Σ_k g_k / ((k − ½)² + η²/4π²), g_k ~ Gamma(w): SERIES terms, and a gamma variable with the mean
    and variance of the rest, a thousandth of the whole. For weights such as 2.5, the mean of polyagamma's default is
    1 % off, and its own series has ten times as many terms. For |η| from 175, its draws are 50 times too large; there
    PG(w, η) = ¼ IG(2w/|η|, w²), as both have the Laplace transform exp(w|η|/2 − w√(η²/4 + t/2)).
    """
    precision = np.zeros_like(predictor)
    far = (weights > 0) & (np.abs(predictor) > FAR)
    one, other = (weights == 1.0) & ~far, (weights > 0) & (weights != 1.0) & ~far
    if far.any():
        precision[far] = 0.25 * rng.wald(2 * weights[far] / np.abs(predictor[far]), np.square(weights[far]))
    if one.any():
        precision[one] = random_polyagamma(1.0, predictor[one], random_state=rng)
    if other.any():
        precision[other] = _polya_gamma_series(weights[other], predictor[other], rng)
    return precision


def _polya_gamma_series(w: FloatArray, eta: FloatArray, rng: np.random.Generator) -> FloatArray:
    a = np.square(eta / (2 * np.pi))
    scale = 1.0 / (np.square(np.arange(SERIES)[:, None] + 0.5) + a)
    drawn = (rng.standard_gamma(np.broadcast_to(w, scale.shape)) * scale).sum(axis=0)
    mean, variance = _series_moments(np.abs(eta))
    mean, variance = mean - scale.sum(axis=0), variance - np.square(scale).sum(axis=0)
    rest = rng.standard_gamma(w * mean**2 / variance) * variance / mean
    return np.asarray((drawn + rest) / (2 * np.pi**2))


def _series_moments(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Σ_k 1/((k − ½)² + η²/4π²), and the sum of their squares."""
    x = np.maximum(eta, 1e-2)
    t = np.tanh(0.5 * x)
    first, second = np.pi**2 * t / x, np.pi**4 * (2 * t / x**3 - (1 - t * t) / x**2)
    small = eta < 1e-2  # to the order of η²
    first = np.where(small, np.pi**2 / 2 * (1 - eta**2 / 12), first)
    return first, np.where(small, np.pi**4 / 6 * (1 - eta**2 / 5), second)


def _truncated_sums(mean: FloatArray, copies: IntArray, rng: np.random.Generator) -> FloatArray:
    """Sums (N,) of `copies` draws from N(mean, 1) truncated to positive values."""
    each = np.repeat(mean, copies)
    # P(z > t) is uniform on (0, Φ(mean)); in logs, to keep the digits of far tails
    z = each - ndtri_exp(np.log(rng.random(len(each))) + log_ndtr(each))
    rows = np.repeat(np.arange(len(mean)), copies)
    return np.asarray(np.bincount(rows, weights=z, minlength=len(mean)), dtype=np.float64)
