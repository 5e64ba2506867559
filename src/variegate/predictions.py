"""Predictions averaged over feature sets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from .likelihoods import count_law
from .types import FloatArray, IntArray

INVERSE_LINKS = {"logit": special.expit, "probit": special.ndtr, "hazard": np.asarray}
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)  # quadrature over the linear predictor of counts
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
LARGEST = 700.0  # exponents are clipped here: e^710 overflows


def student_cdf(z: FloatArray, dof: float) -> FloatArray:
    """P(Z ≤ z) of Student's t; of the normal law if dof is infinite.

    >>> student_cdf(np.zeros(1), 3.0)
    array([0.5])
    """
    return np.asarray(special.stdtr(dof, z) if np.isfinite(dof) else special.ndtr(z))


def student_quantile(u: float, dof: float) -> float:
    """Quantile of the same law.

    >>> round(student_quantile(0.975, np.inf), 2)
    1.96
    """
    return float(special.stdtrit(dof, u) if np.isfinite(dof) else special.ndtri(u))


@dataclass(frozen=True)
class PredictiveMixture:
    """The predictive law of n new rows: a mixture over K sets of Student-t, Bernoulli or count laws.

    Arrays are (K, n); weights (K,) sum to one.

    >>> one, two = np.ones((2, 1)), np.array([[0.0], [2.0]])  # two sets, one new row
    >>> law = PredictiveMixture(np.array([0.5, 0.5]), two, one, two, one, dof=10.0)
    >>> law.mean, law.interval(0.9).shape
    (array([1.]), (1, 2))
    """

    weights: FloatArray
    means: FloatArray
    scales: FloatArray
    latent_means: FloatArray
    latent_scales: FloatArray
    dof: float
    link: str | None = None  # as in `Predictive`
    dispersions: FloatArray | None = None  # (K,) of counts

    @property
    def mean(self) -> FloatArray:
        """E[y], P(y = 1) or the log hazard ratio, shape (n,)."""
        return np.asarray(self.weights @ self.means)

    @property
    def std(self) -> FloatArray:
        """Standard deviation of y (n,): within sets and between them; of a 0/1 outcome, √(p(1−p))."""
        widen = 1.0 if np.isinf(self.dof) else self.dof / (self.dof - 2) if self.dof > 2 else np.inf
        with np.errstate(invalid="ignore", over="ignore"):  # counts whose mean overflows
            within = widen * np.square(self.scales)
            found = np.sqrt(self.weights @ (within + np.square(self.means - self.mean)))
        return np.where(np.isnan(found), np.inf, found)

    def exposed(self, exposure: FloatArray) -> "PredictiveMixture":
        """The law of counts with these exposures (n,) instead of one."""
        latent = self.latent_means + np.log(exposure)
        laws = [count_law(*row) for row in zip(latent, self.latent_scales, self._dispersions, strict=True)]
        means, scales = np.stack([law.mean for law in laws]), np.stack([law.scale for law in laws])
        return replace(self, latent_means=latent, means=means, scales=scales)

    @property
    def _dispersions(self) -> FloatArray:
        return np.zeros(len(self.weights)) if self.dispersions is None else self.dispersions

    def interval(self, level: float = 0.95) -> FloatArray:
        """Central credible interval (n, 2): of numbers and counts, of a probability, or of the log hazard ratio."""
        if not 0 < level < 1:
            raise ValueError(f"The level must lie strictly between 0 and 1, got {level}.")
        tails = ((1 - level) / 2, (1 + level) / 2)
        if self.link is None:
            return np.stack([self._quantile(u, self.means, self.scales) for u in tails], axis=1)
        if self.link == "log":
            return np.stack([self._count_quantile(u) for u in tails], axis=1)
        latent = np.stack([self._quantile(u, self.latent_means, self.latent_scales) for u in tails], axis=1)
        return np.asarray(INVERSE_LINKS[self.link](latent))

    def _quantile(self, u: float, means: FloatArray, scales: FloatArray) -> FloatArray:
        """Quantile of the mixture by bisection between those of its components."""
        single = means + student_quantile(u, self.dof) * scales
        low, high = single.min(axis=0), single.max(axis=0)
        for _ in range(50):
            middle = 0.5 * (low + high)
            z = (middle - means) / np.maximum(scales, 1e-300)
            below = self.weights @ student_cdf(z, self.dof) < u
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))

    def _count_quantile(self, u: float) -> FloatArray:
        """The smallest count k (n,) with P(y ≤ k) ≥ u, by bisection; inf if no float is that large."""
        low = np.full(self.means.shape[1], -1.0)
        high: FloatArray = np.ceil(self.mean + self.std / np.sqrt(min(u, 1 - u)) + 1.0)  # Chebyshev
        high = np.where(np.isfinite(high), high, np.inf)
        while True:
            middle = np.floor(low + 0.5 * (high - low))
            between = np.isfinite(high) & (low < middle) & (middle < high)  # floats above 2⁵³ are at least 2 apart
            if not between.any():
                return high
            below = self._count_cdf(np.where(between, middle, 0.0)) < u
            below, middle = np.where(between, below, False), np.where(between, middle, high)
            low, high = np.where(below, middle, low), np.where(below, high, middle)

    def _count_cdf(self, k: FloatArray) -> FloatArray:
        """P(y ≤ k) (n,)."""
        found = np.zeros(len(k))
        for weight, mean, scale, alpha in zip(
            self.weights, self.latent_means, self.latent_scales, self._dispersions, strict=True
        ):
            for node, share in zip(NODES, NODE_WEIGHTS, strict=True):
                mu = np.exp(np.minimum(mean + node * scale, LARGEST))
                if alpha > 0:  # the regularised incomplete beta function also works for shapes that are not whole
                    part = special.betainc(1 / alpha, k + 1.0, 1.0 / (1.0 + alpha * mu))
                else:
                    part = special.gammaincc(k + 1.0, mu)
                found += weight * share * part
        return found


class Component(NamedTuple):
    """The columns of a set, its weight in the average, and an outcome's likelihood with the set's own slab precision.

    >>> Component(np.array([0, 2]), 0.5, None).weight
    0.5
    """

    S: IntArray
    weight: float
    likelihood: Any


def average_predictions(
    components: Sequence[Component], X: npt.ArrayLike, covariates: Any = None
) -> PredictiveMixture:
    """The mixture over components.

    >>> from variegate.likelihoods import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> likelihood = Gaussian(X, X[:, 1] + 0.5 * rng.normal(size=50))
    >>> two = [Component(np.array([1]), 0.7, likelihood), Component(np.array([0, 1]), 0.3, likelihood)]
    >>> average_predictions(two, X[:3]).mean.shape
    (3,)
    """
    for component in components:
        if not hasattr(component.likelihood, "predictive"):
            name = type(component.likelihood).__name__
            raise ValueError(f"{name} has no `predictive` method, so it cannot predict.")
    laws = [component.likelihood.predictive(component.S, X, covariates) for component in components]
    return PredictiveMixture(
        weights=np.array([component.weight for component in components]),
        means=np.stack([law.mean for law in laws]),
        scales=np.stack([law.scale for law in laws]),
        latent_means=np.stack([law.latent_mean for law in laws]),
        latent_scales=np.stack([law.latent_scale for law in laws]),
        dof=laws[0].dof,
        link=laws[0].link,
        dispersions=np.array([law.dispersion for law in laws]),
    )


class StepFunction(NamedTuple):
    """A step function of time.

    >>> survival = StepFunction(np.array([1.0, 3.0]), np.array([0.8, 0.5]), before=1.0)
    >>> survival([0.5, 1.0, 2.0, 4.0])
    array([1. , 0.8, 0.8, 0.5])
    """

    x: FloatArray  # (K,) increasing
    y: FloatArray  # (K,) the value from each time on
    before: float = 0.0

    def __call__(self, times: Any) -> FloatArray:
        """Return the values at some times."""
        place = np.searchsorted(self.x, np.asarray(times, dtype=np.float64), side="right")
        return np.asarray(np.append(self.before, self.y)[place])


def step_functions(times: FloatArray, values: FloatArray, before: float) -> npt.NDArray[Any]:
    """A function for each row of values (n, K).

    >>> step_functions(np.array([1.0]), np.array([[0.5]]), before=1.0)[0](2.0)
    array(0.5)
    """
    out = np.empty(len(values), dtype=object)  # np.array would turn a list of tuples into a 2-D array
    for i, row in enumerate(values):
        out[i] = StepFunction(times, row, before)
    return out
