"""The DPP against DPPy: first and further draws, fixed size, MAP, and a million items."""

import contextlib
import io
import warnings
from functools import partial
from itertools import combinations

import numpy as np
from dppy.finite_dpps import FiniteDPP
from threadpoolctl import threadpool_limits

from variegate import LowRankDPP

from .measure import in_child, interleaved, milliseconds, table, versions

MILLION = """
import time, numpy as np
from threadpoolctl import threadpool_limits
from variegate import LowRankDPP
threadpool_limits(1)
rng = np.random.default_rng(0)
LowRankDPP(rng.normal(size=(50, 5)), np.zeros(50)).sample(1, 0)  # compile
M, d = 1_000_000, 100
phi = rng.normal(size=(M, d))
for start in range(0, M, 10_000):
    phi[start:start + 10_000] /= np.linalg.norm(phi[start:start + 10_000], axis=1, keepdims=True)
theta = rng.normal(size=M) - np.log(M / 20)
start, cpu = time.perf_counter(), time.process_time()
S = LowRankDPP(phi, theta).sample(1, rng)
result = {
    "seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu, "phi_bytes": phi.nbytes
}
"""


def problem(M: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows and log-qualities with about twenty items per set."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(M, d))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    return phi, LowRankDPP(phi, rng.normal(size=M)).rescaled(expected_size=20).theta


def dppy(phi: np.ndarray, theta: np.ndarray) -> FiniteDPP:
    with contextlib.redirect_stdout(io.StringIO()):  # DPPy prints
        return FiniteDPP("likelihood", L_gram_factor=(phi * np.exp(theta / 2)[:, None]).T)


def dppy_draw(dpp: FiniteDPP, mode: str, state: np.random.RandomState) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        dpp.sample_exact(mode=mode, random_state=state)


def dppy_draw_fixed(dpp: FiniteDPP, mode: str, state: np.random.RandomState) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        dpp.sample_exact_k_dpp(20, mode=mode, random_state=state)


def against_dppy(M: int, d: int) -> list[list[object]]:
    phi, theta = problem(M, d)
    rng, state = np.random.default_rng(0), np.random.RandomState(0)
    ours, theirs = LowRankDPP(phi, theta), dppy(phi, theta)
    fixed = dppy(phi, theta)
    # "further draws" start after a hundred: both have their decomposition, ours its eigenvectors
    ours.sample(100, rng), ours.sample_fixed_size(20, 100, rng)
    modes = {mode: partial(dppy_draw, theirs, mode, state) for mode in ("GS", "GS_bis", "KuTa12")}
    speed = interleaved(modes, 9)
    mode = min(speed, key=lambda name: speed[name])  # the fastest setting of the peer
    dppy_draw_fixed(fixed, mode, state)
    cases = {
        "first draw": (
            lambda: LowRankDPP(phi, theta).sample(1, rng),
            lambda: dppy_draw(dppy(phi, theta), mode, state),
            61,
        ),
        "further draws": (
            lambda: ours.sample(1, rng),
            lambda: dppy_draw(theirs, mode, state),
            101,
        ),
        "further draws, 100 at once": (
            lambda: ours.sample(100, rng),
            lambda: [dppy_draw(theirs, mode, state) for _ in range(100)],
            5,
        ),
        "further draws of size 20": (
            lambda: ours.sample_fixed_size(20, 1, rng),
            lambda: dppy_draw_fixed(fixed, mode, state),
            101,
        ),
    }
    rows = []
    for name, (our_run, their_run, rounds) in cases.items():
        # only decompositions use the threads of BLAS
        for threads in (1, 2) if name == "first draw" else (1,):
            with threadpool_limits(threads):
                # only indicative: on a busy machine two threads wait for each other
                seconds = interleaved({"ours": our_run, "DPPy": their_run}, rounds if threads == 1 else 15)
            task = f"{name} (DPPy: {mode}; {threads} thread{'s' * (threads > 1)})"
            cells = [milliseconds(s) for s in seconds.values()]
            rows.append([f"M={M}, d={d}", task, *cells, f"{seconds['DPPy'] / seconds['ours']:.1f}×"])
    return rows


def greedy_map(M: int, d: int) -> list[object]:
    """DPPy has no MAP; the reference forms the kernel and then runs the same greedy search."""
    phi, theta = problem(M, d)

    def with_kernel() -> None:
        B = phi * np.exp(theta / 2)[:, None]
        L = B @ B.T
        left, c = np.diag(L).copy(), np.zeros((20, M))
        for step in range(20):
            j = int(np.argmax(left))
            c[step] = (L[j] - c[:step, j] @ c[:step]) / np.sqrt(left[j])
            left -= c[step] ** 2
            left[j] = -np.inf

    seconds = interleaved({"ours": lambda: LowRankDPP(phi, theta).map(20), "kernel": with_kernel}, 5)
    ratio = seconds["kernel"] / seconds["ours"]
    cells = [milliseconds(s) for s in seconds.values()]
    return [f"M={M}, d={d}", "MAP of 20 with exchange; greedy on a formed kernel", *cells, f"{ratio:.1f}×"]


def true_map_share(r: float, problems: int = 200) -> tuple[float, float]:
    """How often `map` finds the best set, for M = 10 items in five pairs of correlation r; free size and size 4."""
    rng = np.random.default_rng(0)
    free = fixed = 0
    for _ in range(problems):
        phi = np.sqrt(r) * np.repeat(rng.normal(size=(5, 6)), 2, axis=0) + np.sqrt(1 - r) * rng.normal(size=(10, 6))
        theta = rng.normal(scale=2, size=10)
        dpp = LowRankDPP(phi, theta)
        L = phi @ phi.T
        log_weights = {}
        for k in range(7):
            for S in combinations(range(10), k):
                sign, value = np.linalg.slogdet(L[np.ix_(S, S)])
                log_weights[S] = theta[list(S)].sum() + value if sign > 0 else -np.inf
        best = max(log_weights.values())
        best_of_4 = max(value for S, value in log_weights.items() if len(S) == 4)
        free += log_weights[tuple(dpp.map().tolist())] > best - 1e-8
        fixed += log_weights[tuple(dpp.map(4).tolist())] > best_of_4 - 1e-8
    return free / problems, fixed / problems


def main() -> str:
    warnings.filterwarnings("ignore", module="dppy")
    rows = [row for size in [(2000, 300), (20_000, 100)] for row in against_dppy(*size)]
    rows += [greedy_map(2000, 300), greedy_map(10_000, 100)]
    million = in_child(MILLION)
    shares = [(r, *true_map_share(r)) for r in (0.0, 0.5, 0.9)]
    return "\n\n".join(
        [
            "## The DPP",
            versions("numpy", "scipy", "numba", "dppy"),
            "Medians of interleaved runs, about twenty items a set.",
            table(["problem", "task", "variegate", "peer (DPPy unless said)", "ratio"], rows),
            f"A million items, d = 100: first draw {million['seconds']:.2f} s ({million['cpu_seconds']:.2f} s of one "
            f"core, one thread), peak memory, Φ included, "
            f"{million['peak_bytes'] / million['phi_bytes']:.2f} × the {million['phi_bytes'] / 1e9:.1f} GB of Φ.",
            "How often `map` finds the best of all sets (M = 10 in five pairs of correlation r, d = 6, 200 problems):",
            table(["r", "free size", "size 4"], [[r, f"{a:.1%}", f"{b:.1%}"] for r, a, b in shares]),
        ]
    )
