"""A likelihood of one's own: counts, by a Laplace approximation of log p(y | S).

python examples/poisson.py
"""

import numpy as np

import variegate as vg


def laplace_evidence(X: np.ndarray, y: np.ndarray, precision: float) -> float:
    """Log p(y | S) of y ~ Poisson(e^{β₀ + Xβ}), β ~ N(0, 1/precision), up to a constant that all sets share."""
    Z = np.column_stack([np.ones(len(y)), X])
    prior = np.append(1e-4, np.full(X.shape[1], precision))
    beta = np.append(np.log(y.mean() + 0.5), np.zeros(X.shape[1]))
    for _ in range(50):  # Newton
        rate = np.exp(np.clip(Z @ beta, -30, 30))
        hessian = (Z * rate[:, None]).T @ Z + np.diag(prior)
        step = np.linalg.solve(hessian, Z.T @ (y - rate) - prior * beta)
        beta = beta + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-8:
            break
    rate = np.exp(Z @ beta)
    log_density = y @ (Z @ beta) - rate.sum() - 0.5 * prior @ beta**2 + 0.5 * np.log(prior).sum()
    return float(log_density - 0.5 * np.linalg.slogdet((Z * rate[:, None]).T @ Z + np.diag(prior))[1])


def main() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(120, 4)), 3, axis=1) + 0.3 * rng.normal(size=(120, 12))  # four kinds, three alike
    y = rng.poisson(np.exp(0.5 + 0.8 * X[:, 0] - 0.6 * X[:, 6])).astype(float)

    likelihood = vg.CustomLikelihood(lambda S: laplace_evidence(X[:, S], y, precision=1.0), n_features=12)
    phi = ((X - X.mean(axis=0)) / X.std(axis=0)).T / np.sqrt(len(X))
    posterior = vg.Posterior(vg.fit(vg.Target(likelihood, vg.dpp_prior(phi, expected_size=2)), rng))
    print("inclusion probabilities:", posterior.inclusion_prob().round(2))
    print(
        "best set:", posterior.map().tolist(), "(columns 0 and 6 made the counts; 1, 2 and 7, 8 are their near-copies)"
    )


if __name__ == "__main__":
    main()
