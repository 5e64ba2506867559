"""Algorithm 1 of the paper, as printed: fixed-form variational Bayes by stochastic linear regression.

One set per step; g and C are running averages with weight 1/√N, θ̃ = C⁻¹g by conjugate gradients from the last θ̃,
and the result is C̄⁻¹ḡ over the second half. It regresses log p(y, γ) on γ̃ = [γ, 1]: it needs only the value of the
likelihood, and converges slowly. C is (M+1)², so this is a reference for small M.

The regressed value is log p(y, γ) minus log ν(γ) if ν is part of the family. The printed algorithm regresses
log p(y|γ)p(γ) with a Bernoulli prior and samples from a DPP: its target has a DPP prior of the same α (prior and
posterior both "dpp").
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from scipy.sparse.linalg import cg

from ...dpp import SetDistribution, of_size
from ...types import FloatArray
from ..target import Target
from . import tuning
from .points import Point

REPORTED = 50  # steps between progress reports
FEWEST_STEPS = 40  # per feature; with fewer, a coefficient depends on one or two draws
AGREEMENT = 0.15  # largest difference, in nats, between the two halves of the averaged steps, and from the average

Covariance = Literal["empirical", "closed"]


def fixed_form(
    target: Target,
    start: FloatArray,
    rng: np.random.Generator,
    *,
    n_iter: int = 4000,
    covariance: Covariance = "empirical",
) -> Iterator[Point]:
    """Algorithm 1: n_iter steps from θ = start, under the target's hyperparameters. The last point is the result.

    covariance "closed" replaces γ̃γ̃ᵀ by E_q[γ̃γ̃ᵀ] in closed form: K_iiK_jj − K_ij² off the diagonal, not K as in
    the paper; for free sizes only. `converged` means that the two halves of the averaged steps, and their average,
    agree (`agree`).
    """
    if covariance == "closed" and target.size is not None:
        raise ValueError('covariance must be "empirical" for a fixed size, got "closed"; change one of them.')
    M, weight = target.n_features, 1.0 / np.sqrt(n_iter)
    q = target.distribution(start)
    theta = np.append(start, -target.log_normalizer(q))
    C = np.diag(np.append(_inclusion(target, q), 1.0))
    g = C @ theta
    C_sums, g_sums = np.zeros((2, M + 1, M + 1)), np.zeros((2, M + 1))  # third and last quarter of the steps
    trace, path = np.empty(n_iter), []
    for t in range(n_iter):
        q = target.distribution(theta[:M])
        S = target.draw(q, 1, rng)[0]
        gamma = np.zeros(M + 1)
        gamma[S] = gamma[M] = 1.0
        value = target.log_weight(S)
        trace[t] = value - theta[S].sum() + target.log_normalizer(q) - target.prior_log_normalizer
        C_new = np.outer(gamma, gamma) if covariance == "empirical" else second_moment(q)
        g_new = gamma * value if covariance == "empirical" else C_new @ theta + gamma * (value - gamma @ theta)
        C, g = (1 - weight) * C + weight * C_new, (1 - weight) * g + weight * g_new
        theta = cg(C, g, x0=theta, rtol=1e-6, maxiter=200)[0]
        if t >= n_iter // 2:
            late = int(t >= 3 * n_iter // 4)
            C_sums[late] += C_new
            g_sums[late] += g_new
        if (t + 1) % REPORTED == 0 and t + 1 < n_iter:
            path.append(theta[:M].copy())
            some = np.full(t + 1, np.nan)
            now = Point(np.mean(path[len(path) // 2 :], axis=0), np.diag(C)[:M], trace[: t + 1].copy(), some)
            yield now._replace(stage="fixed form", expected_size=float(len(S)), at=path[-1])
    averaged = _solve(C_sums.sum(axis=0), g_sums.sum(axis=0), theta)
    third, last = (_solve(C_half, g_half, theta) for C_half, g_half in zip(C_sums, g_sums, strict=True))
    q = target.distribution(averaged)
    fresh = target.log_ratios(q, target.draw(q, tuning.FINAL_SETS, rng))
    stands_still = _divergence(third, last, C_sums.sum(axis=0)) < AGREEMENT and agree(trace, fresh)
    converged = n_iter >= FEWEST_STEPS * M and stands_still
    end = Point(averaged, _inclusion(target, q), trace, np.full(n_iter, np.nan), converged)
    yield end._replace(stage="fixed form", expected_size=float(end.inclusion.sum()), at=averaged)


def _solve(C: FloatArray, g: FloatArray, start: FloatArray) -> FloatArray:
    return np.asarray(cg(C, g, x0=start, rtol=1e-8, maxiter=2000)[0][:-1])


def _divergence(theta: FloatArray, other: FloatArray, C: FloatArray) -> float:
    """KL between the q of two nearby θ, ½ΔᵀCov(γ)Δ, with the sums C of γ̃γ̃ᵀ."""
    moment, change = C / C[-1, -1], other - theta
    spread = change @ moment[:-1, :-1] @ change - (moment[-1, :-1] @ change) ** 2
    return float(0.5 * spread)


def agree(trace: FloatArray, fresh: FloatArray) -> bool:
    """Whether the ELBO is constant over the averaged steps, and sets from the average confirm it.

    Both differences plus two standard errors must be below AGREEMENT. The average may be better than the steps, which
    scatter around it.
    """
    if len(trace) < 4:
        return False
    third, last = np.array_split(trace[len(trace) // 2 :], 2)
    rise, rise_error = _difference(last, third)
    loss, loss_error = _difference(np.concatenate([third, last]), fresh)
    return bool(abs(rise) + 2 * rise_error < AGREEMENT and loss + 2 * loss_error < AGREEMENT)


def _difference(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """Difference of means and its standard error."""
    return float(a.mean() - b.mean()), float(np.sqrt(a.var() / len(a) + b.var() / len(b)))


def _inclusion(target: Target, q: SetDistribution) -> FloatArray:
    return of_size(q, target.size).inclusion_prob()


def second_moment(q: SetDistribution) -> FloatArray:
    """E_q[γ̃γ̃ᵀ], (M+1, M+1), for free size: P(i, j ∈ S) = K_iiK_jj − K_ij² for i ≠ j."""
    M = q.n_items
    K = q.marginal_kernel(np.arange(M))
    p = np.diag(K)
    moment = np.empty((M + 1, M + 1))
    moment[:M, :M] = np.outer(p, p) - K**2
    moment[np.arange(M), np.arange(M)] = p
    moment[M, :M] = moment[:M, M] = p
    moment[M, M] = 1.0
    return moment
