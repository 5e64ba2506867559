"""Auxiliary variables given which a two-class likelihood is Gaussian.

Logit (Polson, Scott & Windle 2013): with ω_i ~ PG(w_i, η_i), the Pólya-Gamma law,

    σ(s_iη_i)^{w_i} ∝ E exp(w_i s_i η_i/2 − ω_iη_i²/2):  precision ω_i, information w_i s_i/2,  s_i = ±1.

Probit (Albert & Chib 1993): z_i ~ N(η_i, 1) given its sign s_i: precision w_i, information the sum of w_i such draws,
so weights must be whole numbers.
"""

from typing import NamedTuple

import numpy as np
from polyagamma import random_polyagamma  # type: ignore[import-untyped]
from scipy.special import expit, log_expit, log_ndtr, ndtri_exp

from ..types import FloatArray, IntArray
from .flips import factorise


class Auxiliary(NamedTuple):
    """The Gaussian terms exp(information_i η_i − precision_i η_i²/2); arrays (N,)."""

    precision: FloatArray
    information: FloatArray


class Predictor(NamedTuple):
    """The linear predictor η of coefficients that were drawn, and what is needed to scale it.

    With all coefficients times λ and the slab precision c over λ², the slab's density and the volume element cancel;
    what remains is the likelihood of λη, and the prior of the fixed coefficients, which does not know of c.
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
        likelihood = np.array([self.weights @ log_cdf(scale * margin) for scale in scales])
        return np.asarray(likelihood - 0.5 * self.squares * np.square(scales) + self.n_fixed * np.log(scales))

    def auxiliary(self, scale: float, rng: np.random.Generator) -> Auxiliary:
        """New auxiliary variables given λη."""
        return draw(scale * self.eta, self.signs, self.weights, self.probit, rng)


def draw_coefficients(Zt: FloatArray, prior: FloatArray, given: Auxiliary, rng: np.random.Generator) -> FloatArray:
    """Coefficients (k,) of the rows of Zt (k, N), of prior precisions `prior` (k,)."""
    A = (Zt * given.precision) @ Zt.T
    A.flat[:: len(A) + 1] += prior
    factor = factorise(A, Zt @ given.information)
    return factor._replace(u=factor.u + rng.standard_normal(len(prior))).mean()


def draw(
    predictor: FloatArray, signs: FloatArray, weights: FloatArray, probit: bool, rng: np.random.Generator
) -> Auxiliary:
    """Auxiliary variables given the linear predictor (N,)."""
    if probit:
        return Auxiliary(weights, signs * _truncated_sums(signs * predictor, weights.astype(np.int64), rng))
    return Auxiliary(_polya_gamma(weights, predictor, rng), 0.5 * weights * signs)


def _polya_gamma(weights: FloatArray, predictor: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draws (N,) of PG(w_i, η_i), as PG of the whole part of w_i plus PG of the rest.

    polyagamma's default is 1 % off in the mean for weights such as 2.5; its sum of gammas, for the rest, 0.1 %.
    """
    whole = np.floor(weights)
    precision = np.zeros_like(predictor)
    for part, method in ((whole, None), (weights - whole, "gamma")):
        some = part > 0
        if some.any():
            precision[some] += random_polyagamma(part[some], predictor[some], method=method, random_state=rng)
    return precision


def expansion(predictor: FloatArray, signs: FloatArray, weights: FloatArray, probit: bool) -> Auxiliary:
    """The terms w_i log p(y_i | η_i) to second order around the linear predictor (N,)."""
    t = signs * predictor
    if probit:
        slope = np.exp(-0.5 * t * t - 0.5 * np.log(2 * np.pi) - log_ndtr(t))
        curvature = slope * (slope + t)
    else:
        slope = expit(-t)
        curvature = slope * (1.0 - slope)
    precision = weights * curvature
    return Auxiliary(precision, weights * signs * slope + precision * predictor)


def _truncated_sums(mean: FloatArray, copies: IntArray, rng: np.random.Generator) -> FloatArray:
    """Sums (N,) of `copies` draws from N(mean, 1) given that they are positive."""
    each = np.repeat(mean, copies)
    # P(z > t) is uniform on (0, Φ(mean)): in logs, so that far tails keep their digits
    z = each - ndtri_exp(np.log(rng.random(len(each))) + log_ndtr(each))
    rows = np.repeat(np.arange(len(mean)), copies)
    return np.asarray(np.bincount(rows, weights=z, minlength=len(mean)), dtype=np.float64)
