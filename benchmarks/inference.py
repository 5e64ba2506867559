"""The variational solver: against the printed algorithm, against an exact sampler, and at scale."""

import time
from dataclasses import replace

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

import variegate as vg
from variegate.inference.variational.fixed_form import fixed_form
from variegate.inference.variational.importance import smooth
from variegate.inference.variational.starts import flat_start

from .measure import in_child, table, versions
from .textbook_gibbs import inclusion_by_gibbs

FIXED_FORM_STEPS = 16_000
BLOCKS = {"n_samples": 150, "n_features": 200, "block_size": 5, "correlation": 0.9, "n_true": 8}
LARGE = {"n_samples": 500, "n_features": 2000, "block_size": 10, "correlation": 0.95, "n_true": 20}
SCALE = """
import time, numpy as np, variegate as vg
rng = np.random.default_rng(0)
N, M, d = 300, {M}, 100
vg.fit(vg.Target(vg.Gaussian(rng.normal(size=(60, 50)), rng.normal(size=60)),
                 vg.dpp_prior(rng.normal(size=(50, 20)), expected_size=3)), rng)  # compile
before = peak_bytes()
X = rng.normal(size=(N, M))
y = X[:, :8] @ rng.choice([-1.0, 1.0], 8) + rng.normal(size=N)
phi = rng.normal(size=(M, d))
for start in range(0, M, 10_000):
    phi[start:start + 10_000] /= np.linalg.norm(phi[start:start + 10_000], axis=1, keepdims=True)
start = time.perf_counter()
target = vg.Target(vg.Gaussian(X, y), vg.dpp_prior(phi, expected_size=10))
found = vg.fit(target, rng)
result = {{"seconds": time.perf_counter() - start, "data_bytes": X.nbytes + phi.nbytes, "elbo": found.elbo,
          "before": before, "hits": int(found.q.inclusion_prob()[:8].sum().round())}}
"""


def columns(X: np.ndarray, rank: int | None = None) -> np.ndarray:
    """Φ with unit rows from the standardised columns, of the given rank."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    if rank is not None and rank < min(Z.shape):
        _, s, Vt = np.linalg.svd(Z, full_matrices=False)
        Z = (Vt[:rank].T * s[:rank]).T
    return np.ascontiguousarray((Z / np.linalg.norm(Z, axis=0)).T)


def elbo(target: vg.Target, theta: np.ndarray, n: int = 2000) -> tuple[float, float]:
    """ELBO of any θ and its error, from new sets."""
    q = target.distribution(theta)
    sets = q.sample(n, 12345)
    log_ratios = np.array([target.log_weight(S) - theta[S].sum() for S in sets])
    value = log_ratios.mean() + q.log_normalizer - target.prior_log_normalizer
    return float(value), float(log_ratios.std() / np.sqrt(n))


def against_algorithm_1() -> str:
    """Time to the ELBO that the printed algorithm reaches after 16,000 steps."""
    data = vg.datasets.make_blocks(**BLOCKS, rng=0)
    likelihood, prior = vg.Gaussian(data.X, data.y), vg.dpp_prior(columns(data.X), expected_size=8)
    given = vg.Settings(learn_size=False, learn_slab=False)
    vg.fit(vg.Target(likelihood, prior), np.random.default_rng(9), replace(given, n_starts=1))  # compile

    target = vg.Target(likelihood, prior)
    start = time.perf_counter()
    *_, end = fixed_form(target, flat_start(target), np.random.default_rng(0), n_iter=FIXED_FORM_STEPS)
    printed = end.theta
    printed_seconds = time.perf_counter() - start
    printed_elbo, printed_error = elbo(target, printed)

    target = vg.Target(likelihood, prior)  # with empty caches
    passed: list[float] = []
    start = time.perf_counter()

    def watch(progress: object) -> None:
        if not passed and progress.elbo > printed_elbo:
            passed.append(time.perf_counter() - start)

    found = vg.fit(target, np.random.default_rng(0), given, callback=watch)
    seconds = time.perf_counter() - start
    ours, error = elbo(target, np.array(found.q.theta))
    rows = [
        [
            f"Algorithm 1, {FIXED_FORM_STEPS} steps",
            f"{printed_seconds:.1f}",
            f"{printed_elbo:.2f} ± {printed_error:.2f}",
        ],
        ["rao_blackwell, when it passes that ELBO", f"{passed[0] if passed else np.nan:.3f}", ""],
        ["rao_blackwell, to its end", f"{seconds:.2f}", f"{ours:.2f} ± {error:.2f}"],
    ]
    ratio = printed_seconds / passed[0] if passed else float("nan")
    return "\n\n".join(
        [
            "N=150, M=200, blocks of 5 with r=0.9, 8 true; dpp/dpp, hyperparameters given.",
            table(["solver", "s", "ELBO"], rows),
            f"Ratio of the times to that ELBO: {ratio:.0f}×.",
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
    rows = [["one of the two against the other", *errors(chains[0], chains[1]), ""]]
    given = vg.ChainSettings(average_size=False, average_slab=False)
    exact = vg.Posterior(vg.sample(target, np.random.default_rng(0), given))
    rows.append(["the default solver, an exact chain", *errors(exact.inclusion_prob(), truth), ""])
    rows.append(["the DPP that matches it", *errors(exact.q.inclusion_prob(), truth), ""])
    for family in ("bernoulli", "dpp"):
        posterior = vg.Posterior(
            vg.fit(
                vg.Target(likelihood, prior, family, phi=phi if family == "dpp" else None),
                np.random.default_rng(0),
                vg.Settings(learn_size=False, learn_slab=False),
            )
        )
        name = "mean field" if family == "bernoulli" else "bernoulli/dpp"
        k = f"{posterior.diagnostics().bound.pareto_k:.2f}"
        rows.append([name, *errors(posterior.inclusion_prob(), truth), k])
        weighted = smooth(posterior.fit.log_ratios).weights @ expit(
            target.log_odds(target.evaluate(posterior.fit.sets))
        )
        rows.append([f"{name}, with importance weights", *errors(weighted, truth), k])
    return "\n\n".join(
        [
            f"The same sizes, prior Bernoulli; textbook Gibbs, 25,000 steps ({seconds:.1f} s), two of them averaged.",
            table(["inclusion probabilities from", "mean error", "largest", "Pareto k̂"], rows),
        ]
    )


def errors(p: np.ndarray, truth: np.ndarray) -> list[str]:
    gap = np.abs(p - truth)
    return [f"{gap.mean():.4f}", f"{gap.max():.3f}"]


def at_work() -> str:
    """Seconds per fit at the size of a gene experiment."""
    rows = []
    for task in ("regression", "classification"):
        times, cpu, found = [], [], None
        for seed in range(5):
            data = vg.datasets.make_blocks(**LARGE, task=task, rng=seed)
            likelihood = vg.Gaussian(data.X, data.y) if task == "regression" else vg.Logistic(data.X, data.y)
            phi = columns(data.X, rank=300)
            start, used = time.perf_counter(), time.process_time()
            target = vg.Target(likelihood, vg.dpp_prior(phi, expected_size=20))
            found = vg.fit(target, np.random.default_rng(seed))
            times.append(time.perf_counter() - start)
            cpu.append(time.process_time() - used)
        seconds = [f"{np.median(times):.1f}", f"{np.median(cpu):.1f}", f"{min(cpu):.1f} to {max(cpu):.1f}"]
        rows.append([task, *seconds, found.n_iter])
    return "\n\n".join(
        [
            "N=500, M=2000, d=300, blocks of 10 with r=0.95, 20 true; four starts, all learned; five data sets.",
            table(["likelihood", "median s", "median s of CPU", "range", "iterations of the last"], rows),
        ]
    )


def at_scale() -> str:
    rows, seconds = [], []
    for M in (10_000, 100_000):
        found = in_child(SCALE.format(M=M))
        seconds.append(found["seconds"])
        memory = (found["peak_bytes"] - found["before"]) / found["data_bytes"]
        process = f"{found['peak_bytes'] / 1e6:.0f} MB"
        rows.append([f"{M:,}", f"{found['seconds']:.1f}", f"{memory:.2f}", process, f"{found['hits']} of 8"])
    return "\n\n".join(
        [
            "N=300, d=100, Gaussian, all learned; memory in multiples of the bytes of X and Φ, themselves included, "
            "over what the process had after its imports.",
            table(["M", "s", "memory", "whole process", "true features found"], rows),
            f"Ten times the features take {seconds[1] / seconds[0]:.1f} times as long.",
        ]
    )


def main() -> str:
    parts = [against_algorithm_1, against_the_exact_sampler, at_work, at_scale]
    # one BLAS thread for all: on matrices this small, threads only wait for each other
    with threadpool_limits(1, user_api="blas"):
        return "\n\n".join(["## The engine", versions("numpy", "scipy", "numba"), *(part() for part in parts)])
