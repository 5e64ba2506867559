"""Small references of every kind, with dense textbook versions of what a panel computes."""

from itertools import combinations

import numpy as np

from variegate.design import Design
from variegate.likelihoods import CoxTerms, Logits, PoissonTerms, Softmax, Squares
from variegate.panels import Reference
from variegate.panels.remainder import Remainder, Units

N, M = 40, 7
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N, M)) * [1, 2, 1, 5, 1, 1, 0.1] + [0, 3, 0, 0, -1, 0, 0]
X[:, 5] = X[:, 0] + 0.3 * RNG.normal(size=N)
COVARIATES = np.column_stack([RNG.normal(size=N), X[:, 1] + RNG.normal(size=N)])
WEIGHTS = RNG.integers(0, 4, size=N).astype(float)
ETA = np.stack([X[:, 0] - 0.3 * X[:, 1] + np.sin(X[:, 4]), 0.2 * X[:, 3] + X[:, 2] ** 2, X[:, 4] - COVARIATES[:, 0]])
DRAWS = 0.4 * ETA[None] + 0.2 * RNG.normal(size=(12, 3, M)) @ X.T
TIME, EVENT, STRATA = RNG.exponential(size=N).round(1), RNG.random(N) < 0.7, RNG.integers(0, 2, size=N)


def numbers(K=1, weights=None, draws=None):
    w = np.ones(N) if weights is None else weights
    drawn = None if draws is None else draws[:, :K]
    return Reference(ETA[:K], [Squares(np.zeros(N), w)] * K, np.arange(1.0, K + 1), drawn)


def classes(K=1, draws=None):
    drawn = None if draws is None else draws[:, :K]
    return Reference(0.4 * ETA[:K], [Logits(np.zeros(N), WEIGHTS)] * K, None, drawn)


def exclusive(draws=None):
    """Three classes of which each row has one."""
    eta = 0.4 * (ETA - ETA.mean(axis=0))
    return Reference(eta, Softmax(WEIGHTS), None, draws)


def counts(draws=None):
    drawn = None if draws is None else draws[:, :1]
    return Reference(0.4 * ETA[:1], [PoissonTerms(np.zeros(N), np.linspace(0, 1, N), np.ones(N))], None, drawn)


def survival(strata=None, draws=None):
    terms = CoxTerms.of(TIME, EVENT, strata=strata, weights=WEIGHTS)
    return Reference(0.4 * ETA[:1], [terms], None, None if draws is None else draws[:, :1])


REFERENCES = {
    "numbers": numbers(),
    "weights": numbers(weights=WEIGHTS),
    "outcomes": numbers(3, WEIGHTS),
    "draws": numbers(2, draws=DRAWS),
    "classes": classes(),
    "many classes": exclusive(DRAWS),
    "counts": counts(DRAWS),
    "survival": survival(),
    "strata": survival(STRATA, DRAWS),
}


def dense(auxiliary):
    """The curvature H (N, N)."""
    return auxiliary.times(np.eye(len(auxiliary.precision)))


def remainder_of(reference, unit=None, covariates=None):
    w = reference.curvature.precision
    design = Design.of(X, np.ones(N))
    fixed = np.vstack([np.ones(N), *([] if covariates is None else covariates.T)])
    unit = np.arange(M) if unit is None else unit
    assert len(w) == N
    return Remainder(design, reference.curvature, reference.targets, fixed, Units.of(np.asarray(unit)))


def refitted(remainder, columns, ridge):
    """What least squares leaves of each target: H = RᵀR, rows √ρ for the ridge, columns and fixed part together."""
    values, vectors = np.linalg.eigh(dense(remainder.curvature))
    R = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    Z, p = remainder.design.columns(np.asarray(columns, dtype=int)), len(remainder.fixed)
    A = np.hstack([R @ remainder.fixed.T, R @ Z])
    A = np.vstack([A, np.hstack([np.zeros((Z.shape[1], p)), np.sqrt(ridge) * np.eye(Z.shape[1])])])
    b = np.vstack([R @ remainder.targets.T, np.zeros((Z.shape[1], len(remainder.targets)))])
    beta = np.linalg.lstsq(A, b, rcond=1e-9)[0]
    return np.square(b - A @ beta).sum(axis=0)


def every_set(n, size, included=(), excluded=()):
    free = [m for m in range(n) if m not in included and m not in excluded]
    return [np.array(sorted([*included, *S])) for S in combinations(free, size - len(included))]
