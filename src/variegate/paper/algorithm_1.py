"""Algorithm 1 of the paper, as printed: fixed-form variational Bayes by stochastic linear regression.

One set per step; g and C are running averages with weight 1/√N, θ̃ = C⁻¹g by conjugate gradients from the last θ̃,
and the result is C̄⁻¹ḡ over the second half. It regresses log p(y, γ) on γ̃ = [γ, 1]: it needs only the value of the
likelihood, and converges slowly. C is (M+1)², so this is a reference for small M.

The regressed value is log p(y, γ) minus log ν(γ) if ν is part of the family. The printed algorithm regresses
log p(y|γ)p(γ) with a Bernoulli prior and samples from a DPP: its target has a DPP prior of the same α (prior and
posterior both "dpp").
"""

from typing import Literal

import numpy as np
from scipy.sparse.linalg import cg

from ..dpp import SetDistribution, of_size
from ..inference import Target
from ..threads import one_blas_thread
from ..types import FloatArray
from .fit import Fit, start_from


@one_blas_thread
def algorithm_1(
    target: Target,
    rng: np.random.Generator | int | None,
    *,
    n_iter: int = 4000,
    start: FloatArray | None = None,
    covariance: Literal["empirical", "closed"] = "empirical",
) -> Fit:
    """Run Algorithm 1: n_iter steps under the target's hyperparameters, from the flat θ unless `start` (M,) is given.

    covariance "closed" replaces γ̃γ̃ᵀ by E_q[γ̃γ̃ᵀ] in closed form: K_iiK_jj − K_ij² off the diagonal, not K as in
    the paper; for free sizes only. The paper has no rule for stopping: look at `elbo_trace`. O(M²) memory.

    >>> from variegate.likelihoods import Gaussian
    >>> from variegate.priors import bernoulli_prior
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> target = Target(Gaussian(X, X[:, 1] + X[:, 2]), bernoulli_prior(4, expected_size=1), family="bernoulli")
    >>> algorithm_1(target, 0).q.map()
    array([1, 2])
    """
    if covariance not in ("empirical", "closed"):
        raise ValueError(f'covariance must be "empirical" or "closed", got {covariance!r}.')
    if covariance == "closed" and target.size is not None:
        raise ValueError('covariance must be "empirical" for a fixed size, got "closed"; change one of them.')
    rng, M, weight = np.random.default_rng(rng), target.n_features, 1.0 / np.sqrt(n_iter)
    q = target.distribution(start_from(target, start))
    theta = np.append(q.theta, -target.log_normalizer(q))
    C = np.diag(np.append(of_size(q, target.size).inclusion_prob(), 1.0))
    g = C @ theta
    C_sum, g_sum, trace = np.zeros((M + 1, M + 1)), np.zeros(M + 1), []
    for t in range(n_iter):
        q = target.distribution(theta[:M])
        S = target.draw(q, 1, rng)[0]
        gamma, value = np.zeros(M + 1), target.log_weight(S)
        gamma[S] = gamma[M] = 1.0
        trace.append(value - theta[S].sum() + target.log_normalizer(q) - target.prior_log_normalizer)
        C_new = np.outer(gamma, gamma) if covariance == "empirical" else second_moment(q)
        g_new = gamma * value if covariance == "empirical" else C_new @ theta + gamma * (value - gamma @ theta)
        C, g = (1 - weight) * C + weight * C_new, (1 - weight) * g + weight * g_new
        theta = cg(C, g, x0=theta, rtol=1e-6, maxiter=200)[0]
        if t >= n_iter // 2:
            C_sum += C_new
            g_sum += g_new
    return Fit.of(target, cg(C_sum, g_sum, x0=theta, rtol=1e-8, maxiter=2000)[0][:M], trace, rng)


def second_moment(q: SetDistribution) -> FloatArray:
    """E_q[γ̃γ̃ᵀ], (M+1, M+1), for free size: P(i, j ∈ S) = K_iiK_jj − K_ij² for i ≠ j."""
    M = q.n_items
    K = q.marginal_kernel(np.arange(M))
    p = np.diag(K)
    moment = np.ones((M + 1, M + 1))
    moment[:M, :M] = np.outer(p, p) - K**2
    moment[np.arange(M), np.arange(M)] = moment[M, :M] = moment[:M, M] = p
    return moment
