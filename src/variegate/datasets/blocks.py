"""Blocks of correlated columns: the benchmark in the README."""

from __future__ import annotations

import numpy as np

from ..checks import generator
from .simulation import Array, Simulation, check_task, draw_outcome, random_coefficients


def make_blocks(
    n_samples: int = 500,
    n_features: int = 2000,
    *,
    block_size: int = 10,
    correlation: float = 0.95,
    n_true: int = 20,
    task: str = "regression",
    snr: float = 3.0,
    spread: float = 0.0,
    n_test: int = 0,
    rng: np.random.Generator | int | None = None,
) -> Simulation:
    """Simulate columns in blocks: correlation r within, none between; at most one true column per block.

    x_nm = √r b_{n,block(m)} + √(1−r) e_nm with standard normal b and e; y = X coef + noise. Coefficients have random
    signs and absolute values uniform on 1 ± `spread`; the signal-to-noise ratio var(X coef) / var(noise) is `snr`, so
    the best R² is snr / (1 + snr). For "classification" the noise is logistic and y is 1 if the sum is positive.

    >>> data = make_blocks(20, 40, block_size=10, n_true=3)
    >>> data.X.shape, len(data.truth), data.groups[:12].tolist()
    ((20, 40), 3, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
    """
    check_task(task, snr)
    groups = np.arange(n_features) // block_size
    if not 1 <= n_true <= groups[-1] + 1 or not 0 <= correlation <= 1 or not 0 <= spread <= 1:
        raise ValueError(
            f"n_true must be from 1 to {groups[-1] + 1}, the number of blocks, correlation and spread from 0 to 1, "
            f"got {n_true}, {correlation} and {spread}"
        )
    rng = generator(rng)
    truth = one_per_block(groups, n_true, rng)
    coef = random_coefficients(n_features, truth, rng, spread)
    noise = np.sqrt(np.square(coef).sum() / snr)  # true columns are independent with unit variance
    X = draw_blocks(n_samples + n_test, groups, correlation, rng)
    y = draw_outcome(X[:, truth] @ coef[truth], noise, task, rng)
    return Simulation(
        X=X[:n_samples],
        y=y[:n_samples],
        truth=truth,
        coef=coef,
        groups=groups,
        features=tuple(f"b{g}_{m}" for m, g in enumerate(groups)),
        X_test=X[n_samples:],
        y_test=y[n_samples:],
    )


def draw_blocks(n: int, groups: Array, correlation: float, rng: np.random.Generator) -> Array:
    """Draw n rows of unit-variance columns, correlated within groups but not between, shape (n, M)."""
    shared = rng.standard_normal((n, int(groups.max()) + 1))[:, groups]
    X: Array = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.standard_normal((n, len(groups)))
    return X


def one_per_block(groups: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw n blocks, and one column of each; return the columns, sorted."""
    blocks = rng.choice(int(groups.max()) + 1, size=n, replace=False)
    return np.sort([rng.choice(np.flatnonzero(groups == block)) for block in blocks])
