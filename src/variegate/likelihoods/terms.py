"""Log-likelihoods as functions of the linear predictor, with their derivatives."""

from typing import NamedTuple, Protocol

import numpy as np
from scipy import linalg, optimize
from scipy.special import expit, log_expit, logit, logsumexp, softmax

from ..types import FloatArray
from .auxiliary import Auxiliary, Shared

NEWTON_STEPS, SETTLED = 50, 1e-8
FAINT = 1e-8  # fraction of the weights added to the diagonal of a Hessian: columns may be linearly dependent


class Derivatives(NamedTuple):
    """A log-likelihood at η (N,) and its derivatives.

    The curvature −∂²/∂η² is diag(weight), or diag(weight) − PᵀP if rows are coupled.

    >>> Derivatives(value=-0.5, slope=np.array([1.0]), weight=np.array([1.0])).expanded(np.zeros(1)).information
    array([1.])
    """

    value: float
    slope: FloatArray  # (N,)
    weight: FloatArray  # (N,)
    shared: Shared | None = None  # P

    def expanded(self, xi: FloatArray) -> Auxiliary:
        """The second-order expansion as Gaussian terms of ξ = η − null, here at ξ (N,)."""
        information = self.slope + self.weight * xi
        if self.shared is not None:
            information -= self.shared.times(xi[None])[0]
        return Auxiliary(self.weight, information, self.shared)


class Terms(Protocol):
    """log p(y | η) up to a constant, log-concave; η (N,) the linear predictors of the rows.

    >>> terms: Terms = Logits(np.array([0.0, 1.0, 1.0]))
    >>> terms.derivatives(np.full(3, terms.null)).slope.sum().round(9) + 0.0
    np.float64(0.0)
    """

    @property
    def null(self) -> float:
        """The most likely predictor, the same for all rows, without any column."""
        ...

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """The log-likelihood at η (N,)."""
        ...


class Squares(NamedTuple):
    """Numbers with noise of variance one: −½ Σ (y_i − η_i)².

    >>> Squares(np.array([1.0, 3.0])).derivatives(np.zeros(2)).slope
    array([1., 3.])
    """

    y: FloatArray  # (N,)
    weights: FloatArray | None = None  # (N,)

    @property
    def null(self) -> float:
        """The mean."""
        return float(np.average(self.y, weights=self.weights))

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """Residuals."""
        left = self.y - eta
        w = np.ones_like(left) if self.weights is None else self.weights
        return Derivatives(-0.5 * float(w @ np.square(left)), w * left, w)


class Logits(NamedTuple):
    """Two classes, P(y_i = 1) = σ(η_i).

    >>> Logits(np.array([0.0, 1.0])).derivatives(np.zeros(2)).slope
    array([-0.5,  0.5])
    """

    y: FloatArray  # (N,) zeros and ones
    weights: FloatArray | None = None  # (N,)

    @property
    def null(self) -> float:
        """Log-odds of the second class."""
        return float(logit(np.average(self.y, weights=self.weights)))

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """Slope y − p and weight p(1 − p)."""
        p = expit(eta)
        w = np.ones_like(p) if self.weights is None else self.weights
        value = float(w @ log_expit(np.where(self.y > 0, eta, -eta)))
        return Derivatives(value, w * (self.y - p), w * p * (1.0 - p))


class Softmax(NamedTuple):
    """K exclusive classes, P(y_i = k) ∝ exp η_ki, by what is expected of them.

    >>> Softmax(np.ones(1)).probabilities(np.zeros((2, 1)))
    array([[0.5],
           [0.5]])
    """

    weights: FloatArray  # (N,)

    def probabilities(self, eta: FloatArray) -> FloatArray:
        """Of predictors (…, K, N)."""
        return np.asarray(softmax(eta, axis=-2))

    def weight(self, eta: FloatArray) -> FloatArray:
        """The curvature of each row (…, N): the mean of the K − 1 eigenvalues of diag(p) − ppᵀ that are not zero."""
        p = self.probabilities(eta)
        return np.asarray(self.weights * (1.0 - np.square(p).sum(axis=-2)) / (p.shape[-2] - 1))

    def fitted(self, p: FloatArray, Z: FloatArray) -> FloatArray:
        """Coefficients (K, 1 + k) of an intercept and the columns Z (N, k) that make p (K, N) most likely.

        Their probabilities have the same product with every column as p. O(NKk) a step of conjugate gradients.

        >>> law = Softmax(np.ones(4))
        >>> beta = law.fitted(np.array([[0.2] * 4, [0.3] * 4, [0.5] * 4]), np.zeros((4, 0)))
        >>> law.probabilities(beta).round(4).ravel()
        array([0.2, 0.3, 0.5])
        """
        X, share = np.column_stack([np.ones(len(Z)), Z]), self.weights / self.weights.sum()
        root = np.linalg.cholesky((X.T * share) @ X + FAINT * np.eye(X.shape[1])).T
        whitened, wanted = np.ascontiguousarray(linalg.solve_triangular(root.T, X.T, lower=True)), p * share

        def parts(flat: FloatArray) -> tuple[FloatArray, FloatArray]:
            eta = flat.reshape(len(p), -1) @ whitened
            return eta, logsumexp(eta, axis=0)

        def loss(flat: FloatArray) -> tuple[float, FloatArray]:
            eta, above = parts(flat)
            slope = (np.exp(eta - above) * share - wanted) @ whitened.T
            return float(share @ above - (wanted * eta).sum()), slope.ravel()

        def curved(flat: FloatArray, step: FloatArray) -> FloatArray:
            eta, above = parts(flat)
            q, change = np.exp(eta - above), step.reshape(len(p), -1) @ whitened
            return np.asarray(((q * (change - (q * change).sum(axis=0)) * share) @ whitened.T).ravel())

        start = np.zeros(len(p) * len(root))
        found = optimize.minimize(loss, start, jac=True, hessp=curved, method="Newton-CG", options={"xtol": SETTLED})
        return np.asarray(linalg.solve_triangular(root, found.x.reshape(len(p), -1).T).T)


class Expected(NamedTuple):
    """The log-likelihood whose outcome is what another model expects: `terms` less the slopes that this model leaves.

    >>> Expected(Squares(np.array([9.0])), np.array([7.0]), 0.0).derivatives(np.array([2.0])).slope  # it predicts 2
    array([0.])
    """

    terms: Terms
    slope: FloatArray  # (N,) slopes of the terms at the predictions of that model
    null: float  # the level of its predictor

    def derivatives(self, eta: FloatArray) -> Derivatives:
        """The slope is zero where the means are those of the other model."""
        found = self.terms.derivatives(eta)
        return found._replace(value=found.value - float(self.slope @ eta), slope=found.slope - self.slope)


def fitted_predictor(terms: Terms, Z: FloatArray, ridge: float) -> FloatArray:
    """The linear predictor (N,) of an intercept and the columns Z (N, k), at the maximum of value − ½ ridge |β|².

    >>> fitted_predictor(Squares(np.array([1.0, 3.0])), np.zeros((2, 0)), 0.0)
    array([2., 2.])
    """
    beta = fitted_coefficients(terms, Z, ridge)
    return np.asarray(beta[0] + Z @ beta[1:])


def fitted_coefficients(terms: Terms, Z: FloatArray, ridge: float) -> FloatArray:
    """The intercept and the coefficients (1 + k,) of that predictor, by Newton's method.

    >>> fitted_coefficients(Squares(np.array([1.0, 3.0])), np.array([[0.0], [1.0]]), 0.0).round(6)
    array([1., 2.])
    """
    X = np.column_stack([np.ones(len(Z)), Z])
    rows, penalty = np.ascontiguousarray(X.T), np.append(0.0, np.full(Z.shape[1], ridge))
    beta = np.append(terms.null, np.zeros(Z.shape[1]))

    def at(beta: FloatArray) -> tuple[Derivatives, float]:
        found = terms.derivatives(X @ beta)
        return found, found.value - 0.5 * float(penalty @ np.square(beta))

    here, value = at(beta)
    for _ in range(NEWTON_STEPS):
        A = Auxiliary(here.weight, here.slope, here.shared).inner(rows)
        A += np.diag(penalty + FAINT * here.weight.sum())
        step = np.linalg.solve(A, X.T @ here.slope - penalty * beta)
        there, new = at(beta + step)
        while not new >= value - SETTLED * abs(value) and np.abs(step).max() > SETTLED:
            step = 0.5 * step
            there, new = at(beta + step)
        beta, here, value = beta + step, there, new
        if np.abs(step).max() <= SETTLED:
            break
    return np.asarray(beta)
