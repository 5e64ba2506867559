"""What the solvers need from p(y | γ), and the values it returns."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from ..types import FloatArray, IntArray
from .form import Form, Solution


class Coefficients(NamedTuple):
    """Posterior of the coefficients given the set S, in the units of the user's X.

    Gaussian likelihood: moments of the marginal Student-t law, so the covariance is its scale matrix times
    dof / (dof − 2), infinite for dof ≤ 2. Logistic likelihood: moments of the Gaussian that EP returns.

    >>> Coefficients(0.5, np.array([1.0]), np.array([[0.1]]), np.array([])).mean
    array([1.])
    """

    intercept: float
    mean: FloatArray  # (|S|,)
    covariance: FloatArray  # (|S|, |S|)
    covariates: FloatArray  # δ (p,) posterior means for the columns that are always in the model
    joint: FloatArray = np.empty((0, 0))  # covariance of those of S, the level where all columns are at their means, δ
    dof: float = np.inf  # of the Student-t law; ∞: Gaussian

    @property
    def scales(self) -> FloatArray:
        """Scales (|S| + p,) of the coefficients of S and of the covariates; √variance if Gaussian."""
        variances = np.concatenate([np.diag(self.covariance), np.diag(self.joint)[len(self.mean) + 1 :]])
        shrink = 1.0 if np.isinf(self.dof) else np.sqrt(max(self.dof - 2.0, 0.0) / self.dof)
        return np.asarray(shrink * np.sqrt(variances))


class Predictive(NamedTuple):
    """Predictive law of new rows given the set S.

    Regression: y ~ Student-t(mean, scale, dof). Classification: y ~ Bernoulli(mean), the probability averaged
    over the coefficients, scale = √(p(1 − p)), dof = ∞. The linear predictor has location `latent_mean` and
    scale `latent_scale` (Student-t with the same dof in regression, Gaussian in classification).

    >>> Predictive(np.array([0.0]), np.array([1.0]), 10.0, np.array([0.0]), np.array([0.5])).dof
    10.0
    """

    mean: FloatArray  # (n,)
    scale: FloatArray  # (n,)
    dof: float
    latent_mean: FloatArray  # (n,)
    latent_scale: FloatArray  # (n,)
    link: str | None = None  # "logit" or "probit" for classes, "log" for counts, "hazard" for survival
    dispersion: float = 0.0  # of counts: their variance is μ + dispersion · μ²


class FlipGains(NamedTuple):
    """Evidence of a set and its neighbours: gains Δ_m = log p(y | S ∪ m) − log p(y | S ∖ m).

    >>> FlipGains(-10.0, np.array([2.0, -1.0])).gains
    array([ 2., -1.])
    """

    log_evidence: float
    gains: FloatArray  # (M,)


@runtime_checkable
class Likelihood(Protocol):
    """The minimum that a solver needs. S is a sorted int64 array of distinct features.

    >>> from variegate.likelihoods import CustomLikelihood
    >>> isinstance(CustomLikelihood(lambda S: 0.0, n_features=3), Likelihood)
    True
    """

    @property
    def n_features(self) -> int:
        """M, the number of features."""
        ...

    def log_evidence(self, S: IntArray) -> float:
        """Log p(y | S), coefficients integrated out."""
        ...


@runtime_checkable
class GainsLikelihood(Likelihood, Protocol):
    """A likelihood that computes the gains of all M flips at once.

    >>> from variegate.likelihoods import CustomLikelihood
    >>> isinstance(CustomLikelihood(lambda S: 0.0, n_features=3), GainsLikelihood)
    False
    """

    @property
    def exact_gains(self) -> bool:
        """Whether gains equal differences of log evidence."""
        ...

    def roughly(self, rough: bool) -> Self:
        """The same with the precision that a variational fit needs, or that users need; itself if it has only one."""
        ...

    def flip_gains(self, S: IntArray) -> FlipGains:
        """Gains of every feature given the set S."""
        ...

    def flip_gains_many(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Log evidence (n,) and gains (n, M) of n sets, which may share work."""
        ...


class Predictor(Protocol):
    """The linear predictor η of coefficients drawn given the auxiliary variables."""

    def log_densities(self, scales: FloatArray) -> FloatArray:
        """Log density (J,) with all coefficients times λ and the slab precision over λ², up to a constant.

        That is the likelihood of λη and the prior of coefficients outside the slab; −inf if it cannot be scaled.
        """
        ...

    def auxiliary(self, scale: float, rng: np.random.Generator) -> Any:
        """Draw new auxiliary variables given λη."""
        ...


@runtime_checkable
class QuadraticLikelihood(GainsLikelihood, Protocol):
    """A likelihood with coefficients under a slab that, given `auxiliary`, is or is close to a quadratic form.

    >>> from variegate.likelihoods import CustomLikelihood, Gaussian
    >>> isinstance(Gaussian(np.eye(3), np.arange(3.0)), QuadraticLikelihood)
    True
    >>> isinstance(CustomLikelihood(lambda S: 0.0, n_features=3), QuadraticLikelihood)
    False
    """

    @property
    def slab_precision(self) -> float:
        """Prior precision c of a coefficient of a standardised column."""
        ...

    def with_slab_precision(self, c: float) -> Self:
        """Return the same data and caches with another slab precision."""
        ...

    @property
    def noise_variance(self) -> float:
        """Variance of the noise, in units of the slab's; fractions of explained variance refer to it."""
        ...

    @property
    def nuisance(self) -> float:
        """A nuisance parameter that is averaged over, such as the dispersion of counts; NaN if there is none."""
        ...

    def with_nuisance(self, value: float) -> Self:
        """Return the same data and caches with another value of the nuisance parameter."""
        ...

    def exchange_gains(self, S: IntArray) -> FloatArray:
        """Log p(y | S∖j ∪ m) − log p(y | S) for each member j and every m outside S (|S|, M)."""
        ...

    def columns_of(self, features: IntArray) -> FloatArray:
        """Z: some standardised columns (C, N)."""
        ...

    def quadratic_form(self, features: IntArray, Z: FloatArray, auxiliary: Any) -> Form:
        """The form over some features, whose columns are Z."""
        ...

    def gram_rows(self, S: IntArray, auxiliary: Any) -> tuple[FloatArray, Form]:
        """The Gram rows of S (|S|, M), and the form over all features."""
        ...

    def gram(self, auxiliary: Any) -> tuple[FloatArray, Form]:
        """The Gram matrix of all features, and the form over them, in one pass over the rows."""
        ...

    def solution(self, S: IntArray) -> Solution:
        """What S gives, whatever was computed before: the evidence of any other column follows from it."""
        ...

    @property
    def can_augment(self) -> bool:
        """Whether it is exactly the form, given auxiliary variables that `draw_predictor` leads to.

        If not, `expand` gives the form, and the evidence decides which moves are accepted.
        """
        ...

    def draw_predictor(self, S: IntArray, c: float, auxiliary: Any, rng: np.random.Generator) -> Predictor | None:
        """Draw coefficients given the set, the slab precision and the auxiliary variables (None at the start).

        None if there are no auxiliary variables.
        """
        ...

    def expand(self, sets: Sequence[IntArray], c: float) -> Any:
        """The form's `auxiliary`: an expansion at the linear predictor, averaged over sets of the posterior."""
        ...

    def coefficients(self, S: IntArray) -> Coefficients:
        """Posterior of the coefficients given S."""
        ...

    def predictive(self, S: IntArray, X_new: Any, covariates: Any = None) -> Predictive:
        """Predictive law of the rows of X_new (n, M) given S."""
        ...
