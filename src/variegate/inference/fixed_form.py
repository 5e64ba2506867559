"""Algorithm 1 of the paper, as printed: fixed-form variational Bayes by stochastic linear regression.

One set a step; g and C are running averages with weight 1/√N, θ̃ = C⁻¹g by conjugate gradients from the last θ̃, and
the result is C̄⁻¹ḡ over the second half. It regresses log p(y, γ) on γ̃ = [γ, 1]: requires nothing of the likelihood
but its value, and converges slowly. C is (M+1)², so this is a reference for small M.

What is regressed is the target over the family's base measure. The printed algorithm regresses log p(y|γ)p(γ) with a
Bernoulli prior and samples from a DPP: that is the target with a DPP prior of the same α (prior and posterior both
"dpp").
"""

from typing import Literal

import numpy as np
from scipy.sparse.linalg import cg

from ..dpp import SetDistribution
from .rao_blackwell import Callback, Point, Progress
from .target import Float64Array, Target

REPORTED = 50  # a progress report every so many steps


def fixed_form(
    target: Target,
    start: Float64Array,
    rng: np.random.Generator,
    *,
    n_iter: int = 4000,
    covariance: Literal["empirical", "closed"] = "empirical",
    callback: Callback | None = None,
) -> Point:
    """Run Algorithm 1 for n_iter steps from θ = start.

    covariance "closed" replaces γ̃γ̃ᵀ by E_q[γ̃γ̃ᵀ] in closed form: K_iiK_jj − K_ij² off the diagonal, not K as in
    the paper.
    """
    M, weight = target.n_features, 1.0 / np.sqrt(n_iter)
    q = target.distribution(start)
    theta = np.append(start, -target.log_normalizer(q))
    C = np.diag(np.append(_inclusion(target, q), 1.0))
    g = C @ theta
    C_sum, g_sum = np.zeros_like(C), np.zeros_like(g)
    trace, inclusion = [], _inclusion(target, q)
    for t in range(n_iter):
        q = target.distribution(theta[:M])
        S = target.draw(q, 1, rng)[0]
        gamma = np.zeros(M + 1)
        gamma[S] = gamma[M] = 1.0
        value = target.log_weight(S)
        C_new = np.outer(gamma, gamma) if covariance == "empirical" else second_moment(q)
        g_new = gamma * value if covariance == "empirical" else C_new @ theta + gamma * (value - gamma @ theta)
        C, g = (1 - weight) * C + weight * C_new, (1 - weight) * g + weight * g_new
        theta = cg(C, g, x0=theta, rtol=1e-6, maxiter=200)[0]
        if t >= n_iter // 2:
            C_sum, g_sum = C_sum + C_new, g_sum + g_new
        trace.append(value - theta[:M] @ gamma[:M] + target.log_normalizer(q) - target.prior_log_normalizer)
        if callback is not None and (t + 1) % REPORTED == 0:
            callback(Progress("fixed form", t + 1, float(np.mean(trace[-REPORTED:])), float(len(S))))
    averaged = cg(C_sum, g_sum, x0=theta, rtol=1e-8, maxiter=2000)[0][:M]
    inclusion = _inclusion(target, target.distribution(averaged))
    return Point(averaged, inclusion, np.array(trace), np.full(len(trace), np.nan), converged=True)


def _inclusion(target: Target, q: SetDistribution) -> Float64Array:
    return q.inclusion_prob() if target.size is None else q.inclusion_prob_fixed_size(target.size)


def second_moment(q: SetDistribution) -> Float64Array:
    """E_q[γ̃γ̃ᵀ], (M+1, M+1): P(i, j ∈ S) = K_iiK_jj − K_ij² for i ≠ j."""
    M = q.n_items
    K = q.marginal_kernel(np.arange(M))
    p = np.diag(K)
    moment = np.empty((M + 1, M + 1))
    moment[:M, :M] = np.outer(p, p) - K**2
    moment[np.arange(M), np.arange(M)] = p
    moment[M, :M] = moment[:M, M] = p
    moment[M, M] = 1.0
    return moment
