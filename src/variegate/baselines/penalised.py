"""GLM Lasso and elastic net, with the penalty that gives the requested size."""

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import enet_path

from ..likelihoods import Squares, Terms
from ..types import FloatArray, IntArray
from .problem import Problem

HALF = 0.5  # the elastic net's fraction of ℓ₁ penalty
STEP = 0.8  # factor from one penalty of the path to the next
WEAKEST = 1e-4  # smallest penalty, as a fraction of the one that leaves no column
PRECISION = 1e-6
NEWTON_STEPS = 50
SETTLED = 1e-6  # relative change of the coefficients in the last Newton step
NEAR = 0.7  # columns whose slope is a smaller fraction of the penalty are skipped in a Newton step
CERTAIN = 1e-5  # smallest weight of a row: rows that the model is certain of would have infinite residuals

Coefficients = Callable[[float], FloatArray]


def lasso(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """GLM Lasso: the columns with a coefficient at the penalty that leaves `size`; see `penalised` and `at_size`."""
    return penalised(problem, size, l1_ratio=1.0)


def elastic_net(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """GLM elastic net, penalty half ℓ₁ and half ℓ₂; otherwise as `lasso`."""
    return penalised(problem, size, l1_ratio=HALF)


def penalised(problem: Problem, size: int, *, l1_ratio: float) -> IntArray:
    """Columns of a GLM with penalty α (ρ|β|₁ + (1 − ρ)/2 |β|²), α by bisection.

    Columns are standardised; least squares use scikit-learn. More than two classes: squared loss on the indicators of
    the classes, with one penalty on all coefficients of a column (group Lasso), so that there is one set.
    """
    Z, terms, Y = problem.standardised(), problem.terms, problem.residuals
    # above this penalty no column has a coefficient
    strongest = float(np.linalg.norm(Z.T @ Y, axis=1).max()) / (len(Z) * l1_ratio)
    if len(terms) > 1 or isinstance(terms[0], Squares):
        return at_size(_squared(Z, Y, l1_ratio), strongest, size)
    return at_size(_generalised(Z, terms[0], l1_ratio), strongest, size)


def at_size(coefficients: Coefficients, strongest: float, size: int) -> IntArray:
    """Columns with a coefficient at a penalty that leaves exactly `size`: down the path, then bisection of log α.

    `coefficients(α)` are (M,), all zero at `strongest`. If no penalty leaves that many, because several columns enter
    at one point, the largest of the smallest support above `size` are taken, ties going to the left. If even the
    weakest penalty leaves fewer, the rest is taken from the left too, so the set always has `size` columns.

    >>> strength = np.array([3.0, 1.0, 2.0])
    >>> at_size(lambda alpha: np.maximum(strength - alpha, 0.0), 3.0, 2)  # soft thresholding
    array([0, 2])
    """
    high = low = strongest
    above = np.zeros(0)
    while np.count_nonzero(above) < size and low > WEAKEST * strongest:
        high, low = low, low * STEP
        above = coefficients(low)
    while np.count_nonzero(above) > size and high > low * (1 + PRECISION):
        alpha = float(np.sqrt(high * low))
        found = coefficients(alpha)
        if np.count_nonzero(found) >= size:
            above, low = found, alpha
        else:
            high = alpha
    return np.sort(np.argsort(-np.abs(above), kind="stable")[:size])


def _squared(Z: FloatArray, Y: FloatArray, l1_ratio: float) -> Coefficients:
    """Coefficients (M,) under squared loss; norms over the outcomes if there are several."""
    target = Y[:, 0] if Y.shape[1] == 1 else np.asfortranarray(Y)

    def coefficients(alpha: float) -> FloatArray:
        coef = enet_path(Z, target, l1_ratio=l1_ratio, alphas=[alpha], tol=1e-5, max_iter=10_000)[1][..., 0]
        return np.asarray(coef if coef.ndim == 1 else np.linalg.norm(coef, axis=0))

    return coefficients


def _generalised(Z: FloatArray, terms: Terms, l1_ratio: float) -> Coefficients:
    """Coefficients (M,) of a generalised linear model, by Newton steps from those at the previous penalty."""
    found = np.append(np.zeros(Z.shape[1]), terms.null)  # the intercept comes last

    def loss(at: FloatArray, alpha: float) -> float:
        eta, beta = Z @ at[:-1] + at[-1], at[:-1]
        penalty = l1_ratio * np.abs(beta).sum() + (1 - l1_ratio) / 2 * beta @ beta
        return float(-terms.derivatives(eta).value / len(Z) + alpha * penalty)

    def coefficients(alpha: float) -> FloatArray:
        nonlocal found
        for _ in range(NEWTON_STEPS):
            before, value = found, loss(found, alpha)
            found = _newton_step(Z, terms, before, alpha, l1_ratio)
            if np.abs(found - before).max() <= SETTLED * np.abs(found).max():
                break
            while loss(found, alpha) > value + SETTLED * abs(value):  # too far
                found = (found + before) / 2
        return found[:-1]

    return coefficients


def _newton_step(Z: FloatArray, terms: Terms, at: FloatArray, alpha: float, l1_ratio: float) -> FloatArray:
    """Weighted least squares with the penalty, coefficients and intercept (M + 1,) (Friedman et al. 2010).

    Only columns that have a coefficient or nearly get one take part, which does not change the fixed point.
    """
    eta = Z @ at[:-1] + at[-1]
    here = terms.derivatives(eta)
    slope = np.abs(Z.T @ here.slope) / len(Z)
    near = np.flatnonzero((at[:-1] != 0) | (slope >= min(NEAR * alpha * l1_ratio, slope.max())))
    w = np.maximum(here.weight, CERTAIN)
    working, root, X = eta + here.slope / w, np.sqrt(w), Z[:, near]
    centre, level = w @ X / w.sum(), w @ working / w.sum()
    beta = enet_path(
        (X - centre) * root[:, None], (working - level) * root, l1_ratio=l1_ratio, alphas=[alpha],
        coef_init=at[near], tol=1e-6, max_iter=10_000, precompute=False, copy_X=False,
    )[1][:, 0]  # fmt: skip
    found = np.zeros_like(at)
    found[near], found[-1] = beta, level - centre @ beta
    return found
