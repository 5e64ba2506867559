"""Counts with a log link: Poisson, and negative binomial for counts that vary more."""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, gammaln, log_expit

from ..checks import WrongOutcome
from ..types import FloatArray, IntArray
from . import checks
from .approximate import FIXED_VARIANCE, TALL
from .augmentation import draw_coefficients, pick, polya_gamma, window
from .auxiliary import Auxiliary
from .laplace import Laplace
from .protocol import Predictive
from .terms import SETTLED, Derivatives

# Grid of dispersions that are averaged over, evenly spaced in logs. If counts are nearly Poisson, Pólya-Gamma
# variables are large and the chain moves slowly: by a factor of four if the variance is a thirtieth above Poisson's.
LEAST_EXCESS, LARGEST, STEPS = 1 / 30, 100.0, 40
# They are also large if counts are: their precision is sinh(ψ)/ψ times the curvature, ψ = log αμ, and coefficients
# hardly move. N=150, M=300, three true blocks: with them, the chain's errors are .03 at ψ = 2.6 and 3.5, .07 at 4.9
# after 13-21 s, and at 7 (means of 1,000) it finds no block; with Laplace's evidence it finds all three at every ψ,
# with errors of .01 in 1.2 s.
LARGEST_PSI = 3.5


class PoissonTerms(NamedTuple):
    """y_i ~ Poisson(exp(η_i + o_i)), each row counted w_i times.

    >>> PoissonTerms(np.array([2.0]), np.zeros(1), np.ones(1)).derivatives(np.zeros(1)).slope
    array([1.])
    """

    y: FloatArray  # (N,)
    offset: FloatArray  # (N,) log exposures
    weights: FloatArray  # (N,)

    @property
    def null(self) -> float:
        """Log of the mean rate."""
        return float(np.log(self.weights @ self.y) - np.log(self.weights @ np.exp(self.offset)))

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """Slope y − μ and weight μ."""
        log_mean = eta + self.offset
        with np.errstate(over="ignore"):
            mean = np.exp(log_mean)
        value = float(self.weights @ (self.y * log_mean - mean - gammaln(self.y + 1.0)))
        return Derivatives(value, self.weights * (self.y - mean), self.weights * mean)


class NegativeBinomialTerms(NamedTuple):
    """y_i with mean μ_i = exp(η_i + o_i) and variance μ_i + αμ_i²; with r = 1/α and ψ = log(μ/r), up to a constant

        y ψ − (y + r) log(1 + e^ψ) + log Γ(y + r) − log Γ(r).

    >>> terms = NegativeBinomialTerms(np.array([2.0]), np.zeros(1), np.ones(1), 0.5)
    >>> terms.derivatives(np.log([2.0])).slope
    array([0.])
    """  # noqa: D400

    y: FloatArray  # (N,)
    offset: FloatArray  # (N,) log exposures
    weights: FloatArray  # (N,)
    dispersion: Any  # α

    @property
    def null(self) -> float:
        """Log of the mean rate at the maximum, by Newton's method from the Poisson solution."""
        level = PoissonTerms(self.y, self.offset, self.weights).null
        for _ in range(50):
            here = self.derivatives(np.full(len(self.y), level))
            step = float(here.slope.sum() / here.weight.sum())
            level += float(np.clip(step, -1.0, 1.0))
            if abs(step) < SETTLED:
                break
        return level

    def values(self, eta: FloatArray) -> FloatArray:
        """Log-likelihoods (J,) of several predictors (J, N), or of one predictor with dispersions (J, 1)."""
        r = 1.0 / self.dispersion
        psi = eta + self.offset + np.log(self.dispersion)
        constant = gammaln(self.y + r) - gammaln(r) - gammaln(self.y + 1.0)
        return np.asarray((self.y * psi + (self.y + r) * log_expit(-psi) + constant) @ self.weights)

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """Slope y − (y + r) σ(ψ) and weight (y + r) σ(ψ) σ(−ψ)."""
        p, total = expit(eta + self.offset + np.log(self.dispersion)), self.y + 1.0 / self.dispersion
        slope, weight = self.y - total * p, total * p * (1.0 - p)
        return Derivatives(float(self.values(eta)), self.weights * slope, self.weights * weight)


class Poisson(Laplace[PoissonTerms]):
    """Poisson regression: y_i ~ Poisson(e_i exp(η_i)), evidence by Laplace's method.

    Parameters
    ----------
    X : (N, M) float64 or float32 array (used in place), or scipy.sparse
    y : (N,) counts, whole numbers from 0
    exposure : (N,) what counts are proportional to: time under observation, library size; default ones
    slab_precision : c, on the scale of columns with unit standard deviation
    covariates : (N, p), always in the model
    sample_weight : (N,) frequencies

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> likelihood = Poisson(X, rng.poisson(np.exp(X[:, 1])))
    >>> likelihood.flip_gains(np.array([], dtype=int)).gains.argmax()
    np.int64(1)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        exposure: Any = None,
        slab_precision: float = 1.0,
        covariates: Any = None,
        sample_weight: Any = None,
    ) -> None:
        design, weights = checks.measured(X, sample_weight)
        terms = _counts(y, exposure, weights)
        super().__init__(design, terms, slab_precision=slab_precision, covariates=covariates, sample_weight=weights)

    @property
    def noise_variance(self) -> float:
        """Variance of the log of a count at the mean."""
        return _log_variance(self.terms, 0.0)

    def _law(self, mean: FloatArray, variance: FloatArray) -> Predictive:
        return count_law(mean, np.sqrt(variance), 0.0)


class NegativeBinomial(Laplace[NegativeBinomialTerms]):
    """Negative binomial regression: mean μ_i = e_i exp(η_i), variance μ_i + αμ_i².

    Given Pólya-Gamma variables ω_i ~ PG(y_i + r, ψ_i) it is Gaussian (Polson, Scott & Windle 2013), with precision ω_i
    and information (y_i − r)/2 − ω_i(ψ_i − η_i). The evidence of a set is by Laplace's method.

    Parameters
    ----------
    X, y, exposure, slab_precision, covariates, sample_weight : as in `Poisson`
    dispersion : α; None: averaged over by the exact chain (for counts far above 1/α, the most likely value), and
        elsewhere the most likely value without any column

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> likelihood = NegativeBinomial(X, rng.negative_binomial(2, 2 / (2 + np.exp(X[:, 1]))))
    >>> likelihood.flip_gains(np.array([], dtype=int)).gains.argmax()
    np.int64(1)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        exposure: Any = None,
        dispersion: float | None = None,
        slab_precision: float = 1.0,
        covariates: Any = None,
        sample_weight: Any = None,
    ) -> None:
        design, weights = checks.measured(X, sample_weight)
        counts = _counts(y, exposure, weights)
        self._mean = float(counts.weights @ counts.y / counts.weights.sum())
        self._grid = np.geomspace(min(LEAST_EXCESS / self._mean, 0.1 * LARGEST), LARGEST, STEPS)
        self._learned = dispersion is None
        alpha = likeliest(counts, self._grid) if dispersion is None else checks.positive(dispersion, "dispersion")
        least = 0.0 if self._learned else LEAST_EXCESS
        self._moderate = least <= self._mean * alpha <= np.exp(LARGEST_PSI)
        terms = NegativeBinomialTerms(*counts, alpha)
        super().__init__(design, terms, slab_precision=slab_precision, covariates=covariates, sample_weight=weights)

    @property
    def can_augment(self) -> bool:  # type: ignore[override]
        """Not with very many rows, or if the auxiliary variables hardly move: very large counts, or nearly Poisson."""
        return len(self._weights) <= TALL and self._moderate

    def expand(self, sets: Sequence[IntArray], c: float) -> Auxiliary:
        """The expansion, with the most likely dispersion there unless it is given: with many rows it is well known."""
        if not self._learned:
            return super().expand(sets, c)
        counts, eta = PoissonTerms(*self.terms[:3]), self._null + self._mean_predictor(sets, c)
        alpha = likeliest(counts, self._grid, eta)
        return super(NegativeBinomial, self.with_nuisance(alpha)).expand(sets, c)._replace(nuisance=alpha)

    @property
    def nuisance(self) -> float:  # type: ignore[override]
        """α."""
        return float(self.terms.dispersion)

    def with_nuisance(self, value: float) -> Self:
        """Return the same data with another dispersion."""
        twin = copy.copy(self)
        twin.terms = self.terms._replace(dispersion=value)
        twin._answers = {}
        return twin

    @property
    def noise_variance(self) -> float:
        """Variance of the log of a count at the mean."""
        return _log_variance(self.terms, self.nuisance)

    def _law(self, mean: FloatArray, variance: FloatArray) -> Predictive:
        return count_law(mean, np.sqrt(variance), self.nuisance)

    def _higher(self, eta: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        if self._mean * self.nuisance < LEAST_EXCESS * (1.0 - 1e-9):  # nearly Poisson, whose evidence is without them
            return None
        weight = self.terms.derivatives(eta).weight
        p = expit(eta + self.terms.offset + np.log(self.terms.dispersion))
        return -weight * (1.0 - 2.0 * p), -weight * (1.0 - 6.0 * p * (1.0 - p))

    def draw_predictor(
        self, S: IntArray, c: float, auxiliary: Auxiliary | None, rng: np.random.Generator
    ) -> "CountPredictor":
        """Draw coefficients given S and the auxiliary variables; zeros at the start."""
        Zt, p = self._rows(S), len(self._fixed)
        prior = self._prior(S, c)
        drawn = np.zeros(len(Zt)) if auxiliary is None else draw_coefficients(Zt, prior, auxiliary, rng)
        squares = float(np.square(drawn[len(S) :]).sum()) / FIXED_VARIANCE
        alpha = self.nuisance if auxiliary is None else auxiliary.nuisance
        terms = self.terms._replace(dispersion=alpha)
        return CountPredictor(drawn @ Zt, p, squares, terms, self._null, self._grid if self._learned else None)


class CountPredictor(NamedTuple):
    """The linear predictor null + ξ of drawn coefficients."""

    xi: FloatArray  # (N,)
    n_fixed: int
    squares: float  # Σ δ²/variance of the fixed coefficients
    terms: NegativeBinomialTerms
    null: float
    grid: FloatArray | None  # dispersions, if they are averaged over

    def log_densities(self, scales: FloatArray) -> FloatArray:
        """Log density with ξ times λ for each λ (J,), up to a constant. O(JN)."""
        likelihood = self.terms.values(self.null + scales[:, None] * self.xi)
        return np.asarray(likelihood - 0.5 * self.squares * np.square(scales) + self.n_fixed * np.log(scales))

    def auxiliary(self, scale: float, rng: np.random.Generator) -> Auxiliary:
        """Draw a new dispersion given λξ, then new Pólya-Gamma variables."""
        eta, terms = self.null + scale * self.xi, self.terms
        if self.grid is not None:
            near = window(int(np.argmin(np.abs(self.grid - terms.dispersion))), len(self.grid), rng)
            some = self.grid[near]
            log_p = terms._replace(dispersion=some[:, None]).values(eta)
            terms = terms._replace(dispersion=float(some[pick(log_p, rng)]))
        r, d = 1.0 / terms.dispersion, self.null + terms.offset + np.log(terms.dispersion)
        omega = polya_gamma(terms.weights * (terms.y + r), scale * self.xi + d, rng)
        information = 0.5 * terms.weights * (terms.y - r) - omega * d
        return Auxiliary(omega, information, nuisance=terms.dispersion)


def _counts(y: Any, exposure: Any, weights: FloatArray) -> PoissonTerms:
    """The terms of counts (N,), checked."""
    N = len(weights)
    counts = checks.vector(y, "y", N)
    size = np.ones(N) if exposure is None else checks.vector(exposure, "exposure", N)
    checks.check_counts(counts, size)
    if not weights @ counts > 0:
        raise WrongOutcome("y", "must hold at least one count above zero among the rows with weight, got zeros only")
    return PoissonTerms(counts, np.log(size), weights)


def likeliest(counts: PoissonTerms, grid: FloatArray, eta: FloatArray | None = None) -> float:
    """The most likely dispersion of counts with these log rates (N,), or of counts that no column explains."""
    terms = [NegativeBinomialTerms(*counts, float(a)) for a in grid]
    values = [float(t.values(np.full(len(t.y), t.null) if eta is None else eta)) for t in terms]
    i = int(np.argmax(values))
    if eta is None or not 0 < i < len(grid) - 1:
        return float(grid[i])
    left, middle, right = values[i - 1 : i + 2]  # with many rows it is known more precisely than the grid
    step = 0.5 * (left - right) / (left - 2 * middle + right)
    return float(grid[i] * (grid[1] / grid[0]) ** step)


def _log_variance(terms: PoissonTerms | NegativeBinomialTerms, dispersion: float) -> float:
    mean = float(terms.weights @ terms.y / terms.weights.sum())
    return float(np.log1p(1.0 / mean + dispersion))


def count_law(latent: FloatArray, latent_scale: FloatArray, dispersion: float) -> Predictive:
    """Mean and standard deviation of counts whose log rate is Gaussian.

    >>> count_law(np.array([0.0]), np.array([0.0]), 0.5).scale.round(3)  # √(1 + ½)
    array([1.225])
    """
    with np.errstate(over="ignore"):
        mean, spread = np.exp(latent + 0.5 * np.square(latent_scale)), np.exp(np.square(latent_scale))
        variance = mean + np.square(mean) * (spread * (1.0 + dispersion) - 1.0)
    return Predictive(mean, np.sqrt(variance), np.inf, latent, latent_scale, "log", dispersion)
