"""The predictions of a posterior over sets as the reference of a panel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..design import Design
from ..likelihoods import Auxiliary, Coefficients, PoissonTerms, Predictive, Terms
from ..types import FloatArray, IntArray
from .reference import FLAT, Reference, unexplained

DRAWS, FEWEST_DRAWS = 100, 10
DRAWN_ENTRIES = 20_000_000  # of all draws together (160 MB), with which there are fewer draws of many rows


class Weighted(NamedTuple):
    """One of the sets over which the predictions of an outcome are averaged, with its coefficients."""

    columns: IntArray  # in the order of the coefficients
    weight: float
    coefficients: Coefficients
    law: Predictive  # of a row with all columns at their means

    @property
    def root_scale(self) -> float:
        """Scale of σ of numbers, whose log-likelihood has noise of variance one; 1 for other outcomes."""
        return 1.0 if self.law.link is not None else float(np.sqrt(self.law.scale[0] ** 2 - self.law.latent_scale[0] ** 2))

    @property
    def noise(self) -> float:
        """E[σ² | S] of numbers: the variance of a new row beyond that of its mean."""
        stretch = self.law.dof / max(self.law.dof - 2.0, 1e-9)
        return float(stretch * self.root_scale**2)


def posterior_reference(
    outcomes: Sequence[Sequence[Weighted]],
    terms: Sequence[Terms],
    design: Design,
    covariates: Design,
    rng: np.random.Generator,
) -> Reference:
    """η averaged over sets and coefficients, with draws; the same sets, in the same order, for all outcomes.

    The covariates are in all sets; the terms already contain the row weights.
    """
    K, N = len(outcomes), design.shape[0]
    C = covariates.column_rows(np.arange(covariates.shape[1]))
    n = max(FEWEST_DRAWS, min(DRAWS, DRAWN_ENTRIES // (K * N)))
    shares = np.array([one.weight for one in outcomes[0]])
    shares /= shares.sum()
    chosen = rng.choice(len(shares), size=n, p=shares)
    fixed = np.vstack([np.ones(N), C])
    draws = np.stack([
        [_drawn(sets[i], t, design, covariates, fixed, rng) for sets, t in zip(outcomes, terms, strict=True)]
        for i in chosen
    ])  # fmt: skip
    eta = np.stack([_averaged(sets, design, covariates) for sets in outcomes])
    if outcomes[0][0].law.link is None:
        return Reference(eta, terms, np.array([[one.noise for one in sets] for sets in outcomes]) @ shares, draws, C)
    dispersion = float(shares @ [one.law.dispersion for one in outcomes[0]])
    return Reference(eta, [_as_variable(t, e, dispersion) for t, e in zip(terms, eta, strict=True)], None, draws, C)


def _as_variable(terms: Terms, eta: FloatArray, dispersion: float) -> Terms:
    """Poisson terms with the information of counts whose variance is μ + αμ²; other terms as they are."""
    if not isinstance(terms, PoissonTerms):
        return terms
    return terms._replace(weights=terms.weights / (1.0 + dispersion * np.exp(eta + terms.offset)))


def _predictor(design: Design, S: IntArray, beta: FloatArray) -> FloatArray:
    """X_S β (N,) in the units of X, X from the mean of its columns."""
    return np.asarray(design.columns(S) @ (beta * design.scale[S]))


def _level(one: Weighted, design: Design, covariates: Design) -> float:
    """η where all columns and covariates are at their means."""
    found = one.coefficients
    return float(found.intercept + design.centre[one.columns] @ found.mean + covariates.centre @ found.covariates)


def _averaged(sets: Sequence[Weighted], design: Design, covariates: Design) -> FloatArray:
    beta, delta, level = np.zeros(design.shape[1]), np.zeros(covariates.shape[1]), 0.0
    for one in sets:
        beta[one.columns] += one.weight * one.coefficients.mean
        delta += one.weight * one.coefficients.covariates
        level += one.weight * _level(one, design, covariates)
    used, all_ = np.flatnonzero(beta), np.arange(len(delta))
    return level + _predictor(design, used, beta[used]) + _predictor(covariates, all_, delta)


def _drawn(
    one: Weighted, terms: Terms, design: Design, covariates: Design, fixed: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """A predictor (N,) with coefficients drawn from their posterior given the set.

    Given those of the set, the coefficients of the fixed part (1 + p, N), which have a flat prior, have the precision
    FHFᵀ, and a mean that takes up what the fixed part explains of the change.
    """
    S, found = one.columns, one.coefficients
    stretch = 1.0 if np.isinf(found.dof) else np.sqrt(found.dof / rng.chisquare(found.dof))
    noise = stretch * one.root_scale
    beta = stretch * (_root(found) @ rng.standard_normal(len(S)))
    mean = _averaged([one._replace(weight=1.0)], design, covariates)
    here = _as_variable(terms, mean, one.law.dispersion).derivatives(mean)
    H = Auxiliary(here.weight, here.slope, here.shared)
    around = unexplained(_predictor(design, S, beta), fixed, H)
    values, vectors = np.linalg.eigh(H.inner(fixed))
    some = values > FLAT * max(float(H.precision.sum()), 1e-300)
    level = noise * (rng.standard_normal(int(some.sum())) / np.sqrt(values[some])) @ vectors[:, some].T
    return np.asarray(mean + around + level @ fixed)


def _root(found: Coefficients) -> FloatArray:
    """A with AAᵀ the scale matrix of the coefficients; zero if that is not finite."""
    shrink = 1.0 if np.isinf(found.dof) else max(found.dof - 2.0, 0.0) / found.dof
    if not np.isfinite(found.covariance).all():
        return np.zeros_like(found.covariance)
    values, vectors = np.linalg.eigh(shrink * found.covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
