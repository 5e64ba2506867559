"""One column after another: matching pursuit, forward selection, minimal redundancy."""

import warnings

import numpy as np
from sklearn.feature_selection import f_classif, f_regression
from sklearn.linear_model import orthogonal_mp

from ..inference import Target, grow
from ..likelihoods import Terms, fitted_predictor
from ..priors import bernoulli_prior
from ..tasks import RIDGE, task_named
from ..types import FloatArray, IntArray
from .problem import Problem
from .univariate import filled

INSIDE = 1e-10  # a column with a smaller fraction outside the span of the set adds nothing
LEAST_REDUNDANCY = 1e-3  # smaller mean correlations are replaced by this


def omp(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """Orthogonal matching pursuit (scikit-learn's) of `Problem.residuals` on standardised columns.

    It stops early if the residual vanishes or only copies are left; the strongest single columns then fill the set.
    """
    residuals = problem.residuals
    if residuals.shape[1] > 1:
        raise ValueError(
            f"OMP needs one outcome, numbers or two classes, got {residuals.shape[1]} classes; "
            'try "forward_score" or "lasso", which accept more.'
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ended prematurely", category=RuntimeWarning)
        coef = orthogonal_mp(problem.standardised(), residuals[:, 0], n_nonzero_coefs=size)
    return filled(np.flatnonzero(coef), problem, size)


def forward_evidence(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """Forward selection by evidence: each step adds the column that raises log p(y | S) most.

    The likelihoods are our own, with their default slab; in classification the gains are EP's first-order ones.
    """
    outcomes, M = task_named(problem.task).likelihoods(problem.X, problem.y), problem.n_features
    # a prior that treats all columns alike does not change which one is next
    return filled(grow(Target(outcomes, bernoulli_prior(M, expected_size=M / 2), "bernoulli"), size), problem, size)


def forward_score(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """Forward selection by Rao's score statistic: each step adds the column with the largest

        U_m² / I_m,  U_m = x_mᵀ(y − μ),  I_m = x_mᵀ W x_m − x_mᵀ W Z (ZᵀWZ)⁻¹ ZᵀW x_m,

    where Z holds the intercept and the columns in the set, y − μ and W are the slope and the weights of the
    log-likelihood fitted on them, with a weak ridge. In regression W = 1 and the statistic is the drop of the residual
    sum of squares, so this is ordinary stepwise regression. With several classes, one-vs-rest statistics are added up.
    """  # noqa: D400
    Z = problem.standardised()
    chosen: list[int] = []
    for _ in range(size):
        statistics = np.sum([score_statistics(terms, Z, chosen) for terms in problem.terms], axis=0)
        statistics[chosen] = -np.inf
        chosen.append(int(np.argmax(statistics)))
    return np.sort(np.array(chosen, dtype=np.int64))


def score_statistics(terms: Terms, Z: FloatArray, chosen: list[int]) -> FloatArray:
    """U²/I of every column (M,) given those chosen; 0 for columns in their span."""
    fit = terms.derivatives(fitted_predictor(terms, Z[:, chosen], RIDGE))
    root = np.sqrt(fit.weight)
    weighted = root[:, None] * Z
    basis = np.linalg.qr(np.column_stack([root, weighted[:, chosen]]))[0]
    outside = np.square(weighted - basis @ (basis.T @ weighted)).sum(axis=0)
    new = outside > INSIDE * np.square(weighted).sum(axis=0)
    return np.where(new, (Z.T @ fit.slope) ** 2 / np.where(new, outside, 1.0), 0.0)


def mrmr(problem: Problem, size: int, rng: np.random.Generator) -> IntArray:
    """Minimal redundancy, maximal relevance: each step adds the column with the largest F_m / mean_{j ∈ S} |r_mj|.

    F is scikit-learn's univariate statistic: between the classes, or of a regression of `Problem.residuals`. This is
    the quotient FCQ of Ding & Peng (2005), J. Bioinformatics and Computational Biology 3; for outcomes that depend
    weakly on many columns, it is far less noisy than nearest-neighbour estimates of mutual information.
    """
    Z = problem.standardised()
    varies = np.flatnonzero(Z.any(axis=0))
    F = np.zeros(problem.n_features)
    if problem.task == "classification":
        F[varies] = f_classif(Z[:, varies], problem.y)[0]
    else:
        F[varies] = f_regression(Z[:, varies], problem.residuals[:, 0])[0]
    chosen = [int(np.argmax(F))]
    total = np.zeros(problem.n_features)
    while len(chosen) < size:
        total += np.abs(Z.T @ Z[:, chosen[-1]]) / len(Z)
        value = F / np.maximum(total / len(chosen), LEAST_REDUNDANCY)
        value[chosen] = -np.inf
        chosen.append(int(np.argmax(value)))
    return np.sort(np.array(chosen, dtype=np.int64))
