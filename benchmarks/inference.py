"""The paper's methods, against one another and against an exact sampler."""

import time

import numpy as np
from threadpoolctl import threadpool_limits

import variegate as vg

from .measure import table, versions
from .textbook_gibbs import inclusion_by_gibbs

PRINTED_STEPS = 16_000
BLOCKS = {"n_samples": 150, "n_features": 200, "block_size": 5, "correlation": 0.9, "n_true": 8}


def columns(X: np.ndarray, rank: int | None = None) -> np.ndarray:
    """Φ with unit rows from the standardised columns, of the given rank."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    if rank is not None and rank < min(Z.shape):
        _, s, Vt = np.linalg.svd(Z, full_matrices=False)
        Z = (Vt[:rank].T * s[:rank]).T
    return np.ascontiguousarray((Z / np.linalg.norm(Z, axis=0)).T)


def against_algorithm_1() -> str:
    """ELBO and time of Algorithm 1 and of the natural gradient."""
    data = vg.datasets.make_blocks(**BLOCKS, rng=0)
    likelihood, prior = vg.Gaussian(data.X, data.y), vg.dpp_prior(columns(data.X), expected_size=8)
    rows = []
    for name, solve in {
        f"Algorithm 1, {PRINTED_STEPS} steps": lambda target: vg.paper.algorithm_1(target, 0, n_iter=PRINTED_STEPS),
        "natural gradient, one start": lambda target: vg.paper.natural_gradient(target, 0, n_starts=1),
        "natural gradient": lambda target: vg.paper.natural_gradient(target, 0),
    }.items():
        start = time.perf_counter()
        found = solve(vg.Target(likelihood, prior))  # with empty caches
        rows.append([name, f"{time.perf_counter() - start:.1f}", f"{found.elbo:.2f} ± {found.elbo_error:.2f}"])
    return "\n\n".join(
        [
            "N=150, M=200, blocks of 5 with r=0.9, 8 true; dpp/dpp, hyperparameters given.",
            table(["", "s", "ELBO"], rows),
        ]
    )


def against_the_exact_sampler() -> str:
    """Errors of inclusion probabilities against a long run of a textbook Gibbs sampler."""
    data = vg.datasets.make_blocks(**BLOCKS, rng=1)
    likelihood, phi = vg.Gaussian(data.X, data.y), columns(data.X)
    prior = vg.bernoulli_prior(200, expected_size=8)
    target = vg.Target(likelihood, prior, "dpp", phi=phi)
    start = time.perf_counter()
    chains = [inclusion_by_gibbs(target, 25_000, s) for s in range(2)]
    seconds = (time.perf_counter() - start) / 2
    truth = np.mean(chains, axis=0)
    given = vg.ChainSettings(average_size=False, average_slab=False)
    exact = vg.sample(target, 0, given)
    rows = [
        ["one of the two against the other", *errors(chains[0], chains[1])],
        ["the exact chain", *errors(exact.inclusion, truth)],
        ["the DPP that matches it", *errors(exact.q.inclusion_prob(), truth)],
    ]
    for family, name in (("bernoulli", "mean field"), ("dpp", "bernoulli/dpp")):
        found = vg.paper.natural_gradient(
            vg.Target(likelihood, prior, family, phi=phi if family == "dpp" else None), 0
        )
        rows.append([name, *errors(found.inclusion, truth)])
    return "\n\n".join(
        [
            f"The same sizes, prior Bernoulli; textbook Gibbs, 25,000 steps ({seconds:.1f} s), two of them averaged.",
            table(["inclusion probabilities from", "mean error", "largest"], rows),
            "<!-- end of the engine -->",
        ]
    )


def errors(p: np.ndarray, truth: np.ndarray) -> list[str]:
    gap = np.abs(p - truth)
    return [f"{gap.mean():.4f}", f"{gap.max():.3f}"]


def main() -> str:
    parts = [against_algorithm_1, against_the_exact_sampler]
    # one BLAS thread for all: on matrices this small, threads only wait for each other
    with threadpool_limits(1, user_api="blas"):
        return "\n\n".join(
            ["## The paper's methods", versions("numpy", "scipy", "numba"), *(part() for part in parts)]
        )
