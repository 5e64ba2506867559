"""Small selection problems with correlated columns, and their exact posteriors."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from oracle import all_sets
from variegate.inference import Target
from variegate.likelihoods import Cox, Gaussian, Logistic, NegativeBinomial, Poisson
from variegate.priors import bernoulli_prior, dpp_prior

PAIRS = [("dpp", "dpp"), ("bernoulli", "dpp"), ("dpp", "bernoulli"), ("bernoulli", "bernoulli")]


def correlated_data(M=10, N=60, r=0.9, group=2, seed=0, task="gaussian"):
    """Groups of columns with correlation r; three groups matter, each through one column."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(N, -(-M // group)))
    X = np.sqrt(r) * np.repeat(groups, group, axis=1)[:, :M] + np.sqrt(1 - r) * rng.normal(size=(N, M))
    beta = np.zeros(M)
    beta[rng.choice(M // group, 3, replace=False) * group] = rng.choice([-1, 1], 3) * np.array([1.0, 0.7, 0.4])
    eta = X @ beta
    if task == "logistic":
        return X, (rng.random(N) < 1 / (1 + np.exp(-1.5 * eta))).astype(float)
    if task == "cox":
        return X, np.column_stack([rng.exponential(np.exp(-eta)), rng.random(N) < 0.7])
    if task in ("poisson", "negative binomial"):
        return X, rng.poisson(np.exp(0.5 + 0.7 * eta))
    return X, eta + rng.normal(size=N)


LIKELIHOODS = {
    "gaussian": lambda X, y: Gaussian(X, y, slab_precision=10.0),
    "logistic": lambda X, y: Logistic(X, y, slab_precision=1.0),
    "cox": lambda X, y: Cox(X, *y.T, slab_precision=1.0),
    "poisson": lambda X, y: Poisson(X, y, slab_precision=1.0),
    "negative binomial": lambda X, y: NegativeBinomial(X, y, dispersion=0.3, slab_precision=1.0),
}


def similarity_of_columns(X):
    """Φ = standardised columns / √N."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(Z.T) / np.sqrt(len(X))


def make_target(prior="dpp", posterior="dpp", *, task="gaussian", size=None, expected_size=3.0, diversity=1.0, **data):
    X, y = correlated_data(task=task, **data)
    likelihood = LIKELIHOODS[task](X, y)
    phi = similarity_of_columns(X)
    law = (
        bernoulli_prior(X.shape[1], expected_size=expected_size)
        if prior == "bernoulli"
        else dpp_prior(phi, expected_size=expected_size, diversity=diversity)
    )
    return Target(likelihood, law, posterior, phi=phi if posterior == "dpp" else None, size=size)


class Exact:
    """The target over all sets, and the divergence of any q_θ from it."""

    def __init__(self, target):
        self.target = target
        self.sets = [np.array(S, dtype=np.int64) for S in all_sets(target.n_features)]
        if target.size is not None:
            self.sets = [S for S in self.sets if len(S) == target.size]
        self.gamma = np.zeros((len(self.sets), target.n_features))
        for row, S in zip(self.gamma, self.sets, strict=True):
            row[S] = 1.0
        self.log_joint = np.array([target.log_joint(S) for S in self.sets])
        self.log_evidence = logsumexp(self.log_joint)  # log p(y)
        self.log_posterior = self.log_joint - self.log_evidence
        self.posterior = np.exp(self.log_posterior)
        self.log_base = np.zeros(len(self.sets))
        if target.family_has_volume:
            self.log_base = np.array([target.volume.log_volume(S) for S in self.sets])

    @property
    def inclusion(self):
        return self.posterior @ self.gamma

    def log_q(self, theta):
        weights = self.gamma @ theta + self.log_base
        return weights - logsumexp(weights)

    def divergence(self, theta):
        """KL(q_θ ‖ posterior) and its gradient."""
        log_q = self.log_q(theta)
        q = np.exp(log_q)
        possible = q > 0
        difference = np.zeros_like(q)
        difference[possible] = log_q[possible] - self.log_posterior[possible]
        value = q @ difference
        return value, self.gamma.T @ (q * (difference - value))

    def smallest_divergence(self, n_starts=12, seed=0):
        """The best of many exact optimisations, most of them from modes of the posterior."""
        rng = np.random.default_rng(seed)
        p = np.clip(self.inclusion, 1e-6, 1 - 1e-6)
        starts = [np.log(p / (1 - p)), np.full(len(p), -2.0)]
        for _ in range(n_starts):
            theta = np.full(len(p), -4.0) + rng.normal(size=len(p))
            theta[self.sets[rng.choice(len(self.sets), p=self.posterior)]] = 4.0
            starts.append(theta)
        impossible = ~(self.gamma[self.posterior > 0].any(axis=0)) & (not self.target.family_has_volume)

        def divergence(theta):
            value, gradient = self.divergence(np.where(impossible, -1e3, theta))
            return value, np.where(impossible, 0.0, gradient)

        options = {"maxiter": 3000, "maxfun": 10_000, "ftol": 1e-13, "gtol": 1e-8}
        found = [minimize(divergence, s, jac=True, method="L-BFGS-B", options=options) for s in starts]
        return min(result.fun for result in found)
