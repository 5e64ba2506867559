"""The effect of halving and doubling each tuning constant of the variational solver, on the ELBO and on the time."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import variegate as vg
from variegate.inference.variational import tuning

from .measure import table, versions

BLOCKS = {"block_size": 5, "correlation": 0.9, "n_true": 8}
SEEDS = (0, 1, 2)


def targets() -> dict[str, object]:
    """Problems: a function of a seed for each."""

    def of(task: str, n: int, M: int, size: int | None = None) -> object:
        def make(seed: int) -> vg.Target:
            data = vg.datasets.make_blocks(n_samples=n, n_features=M, task=task, rng=40 + seed, **BLOCKS)
            kind = vg.Gaussian if task == "regression" else vg.Logistic
            prior = vg.dpp_prior(vg.similarity.from_columns(data.X), expected_size=8)
            return vg.Target(kind(data.X, data.y), prior, size=size)

        return make

    return {
        "M=200": of("regression", 150, 200),
        "M=200, classes": of("classification", 150, 200),
        "M=200, size 8": of("regression", 150, 200, 8),
        "M=1000": of("regression", 300, 1000),
    }


@contextmanager
def changed(name: str, factor: float) -> Iterator[None]:
    """Change a constant temporarily; counts stay whole and positive, fractions below one."""
    before = getattr(tuning, name)
    setattr(tuning, name, _times(before, factor))
    try:
        yield
    finally:
        setattr(tuning, name, before)


def _times(value: object, factor: float) -> object:
    if isinstance(value, tuple):
        return tuple(_times(part, factor) for part in value)
    if isinstance(value, int):
        return max(round(value * factor), 1)
    return 1 - (1 - value) / factor if 0.5 < value < 1 and factor > 1 else value * factor


def numbers() -> list[str]:
    """The solver's constants, in order."""
    return [name for name in vars(tuning) if name.isupper() and name != "PRECISION_RANGE"]


def fits(make: object, first_seed: int = 0) -> tuple[np.ndarray, float]:
    """ELBO of a fit to each data set, and the total seconds of CPU."""
    targets = [make(seed) for seed in SEEDS]
    start = time.process_time()
    found = [vg.fit(target, first_seed + i).elbo for i, target in enumerate(targets)]
    return np.array(found), time.process_time() - start


def main() -> str:
    """One row per constant: change of the ELBO in nats, and of the time, if it is halved and doubled."""
    warnings.simplefilter("ignore", vg.ConvergenceWarning)
    problems = targets()
    for make in problems.values():
        fits(make)  # compile
    base = {name: fits(make) for name, make in problems.items()}
    noise = {name: np.abs(fits(make, 10)[0] - base[name][0]).mean() for name, make in problems.items()}
    rows = []
    for number in numbers():
        cells = []
        for factor in (0.5, 2.0):
            with changed(number, factor):
                found = {name: fits(make) for name, make in problems.items()}
            change = [np.mean(found[name][0] - base[name][0]) for name in problems]
            seconds = sum(found[name][1] for name in problems) / sum(base[name][1] for name in problems)
            cells += [" ".join(f"{c:+.2f}" for c in change), f"{seconds:.2f}"]
        rows.append([f"`{number}` {getattr(tuning, number)!s:.6}", *cells])
    head = ["number", "halved: ELBO", "time", "doubled: ELBO", "time"]
    return "\n\n".join(
        [
            "## The numbers of the variational solver",
            f"`python -m benchmarks tuning`. Change of the ELBO in nats, mean over {len(SEEDS)} data sets of "
            f"each problem ({', '.join(problems)}), and of the CPU time of all. Another seed of the same fits: "
            + ", ".join(f"{x:.2f}" for x in noise.values()) + " nats (mean difference).",
            table(head, rows),
            versions("variegate", "numpy", "scipy", "numba"),
        ]
    )  # fmt: skip
