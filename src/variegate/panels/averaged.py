"""The predictions of a posterior over sets as the reference of a panel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit

from ..design import Design
from ..likelihoods import Coefficients, Logits, PoissonTerms, Predictive, Softmax, Terms
from ..types import FloatArray, IntArray
from .reference import Reference

DRAWS, FEWEST_DRAWS = 100, 10
DRAWN_ENTRIES = 20_000_000  # of all draws together (160 MB), with which there are fewer draws of many rows


class Weighted(NamedTuple):
    """One of the sets over which the predictions of an outcome are averaged, with its coefficients."""

    columns: IntArray  # in the order of the coefficients
    weight: float
    coefficients: Coefficients
    law: Predictive  # of a row with all columns at their means

    @property
    def noise(self) -> float:
        """E[σ² | S] of numbers: the variance of a new row beyond that of its mean."""
        stretch = self.law.dof / max(self.law.dof - 2.0, 1e-9)
        return float(stretch * (self.law.scale[0] ** 2 - self.law.latent_scale[0] ** 2))


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
    draws = np.stack([[_drawn(sets[i], design, covariates, rng) for sets in outcomes] for i in chosen])
    eta = np.stack([_averaged(sets, design, covariates) for sets in outcomes])
    if outcomes[0][0].law.link is None:
        return Reference(eta, terms, np.array([[one.noise for one in sets] for sets in outcomes]) @ shares, draws, C)
    if isinstance(terms[0], Logits) and K > 1:
        weights = np.ones(N) if terms[0].weights is None else terms[0].weights
        return Reference(_exclusive(eta), Softmax(weights), None, _exclusive(draws), C)
    dispersion = float(shares @ [one.law.dispersion for one in outcomes[0]])
    return Reference(eta, [_as_variable(t, e, dispersion) for t, e in zip(terms, eta, strict=True)], None, draws, C)


def _exclusive(eta: FloatArray) -> FloatArray:
    """Predictors (…, K, N) of exclusive classes, with sum zero, from those of each class against the rest.

    P(k) ∝ σ(η_k), as in the model's predictions.
    """
    found = log_expit(eta)
    return np.asarray(found - found.mean(axis=-2, keepdims=True))


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


def _drawn(one: Weighted, design: Design, covariates: Design, rng: np.random.Generator) -> FloatArray:
    """A predictor (N,) with coefficients drawn from their posterior given the set."""
    S, found = one.columns, one.coefficients
    stretch = 1.0 if np.isinf(found.dof) else np.sqrt(found.dof / rng.chisquare(found.dof))
    root = _root(found)
    off = stretch * (root @ rng.standard_normal(len(root)))
    beta, level, delta = np.split(off, [len(S), len(S) + 1])
    around = _predictor(design, S, found.mean + beta)
    around += _predictor(covariates, np.arange(len(found.covariates)), found.covariates + delta)
    return np.asarray(_level(one, design, covariates) + level.sum() + around)


def _root(found: Coefficients) -> FloatArray:
    """A with AAᵀ the joint scale matrix of the coefficients; zero if that is not finite."""
    shrink = 1.0 if np.isinf(found.dof) else max(found.dof - 2.0, 0.0) / found.dof
    if not np.isfinite(found.joint).all():
        return np.zeros_like(found.joint)
    scales = np.sqrt(found.joint.diagonal())  # the columns may have very different units
    inverse = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales > 0)
    values, vectors = np.linalg.eigh(found.joint * np.outer(inverse, inverse))
    return np.asarray(scales[:, None] * vectors * np.sqrt(shrink * np.maximum(values, 0.0)))
