"""The result of every simulator, and outcomes with a known signal-to-noise ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import Network

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Simulation:
    """Data with known true features.

    Attributes
    ----------
    X, y : (N, M) features; (N,) numbers, or 0 and 1
    truth : sorted indices of the features that matter
    coef : (M,) their coefficients, 0 elsewhere
    groups : (M,) block or module of each feature
    features : M names
    X_test, y_test : more data from the same model
    graph : the network of the features, if there is one
        Its node names are `features`.
    sites, centres, widths : locations of the samples; centres and widths of the features, if those are bumps

    Examples
    --------
    >>> from variegate.datasets import make_blocks
    >>> data = make_blocks(20, 10, block_size=5, n_true=2)
    >>> data.truth.shape, data.coef[data.truth].shape
    ((2,), (2,))
    """

    X: Array
    y: Array
    truth: Array
    coef: Array
    groups: Array
    features: tuple[str, ...]
    X_test: Array
    y_test: Array
    graph: Network | None = None
    sites: Array | None = None
    centres: Array | None = None
    widths: Array | None = None


def random_coefficients(M: int, truth: Array, rng: np.random.Generator, spread: float = 0.0) -> Array:
    """Return ±u, u uniform on 1 ± spread, for true features and 0 for the others, shape (M,)."""
    coef = np.zeros(M)
    coef[truth] = rng.choice([-1.0, 1.0], size=len(truth))
    if spread:
        coef[truth] *= rng.uniform(1 - spread, 1 + spread, size=len(truth))
    return coef


def draw_outcome(signal: Array, scale: float, task: str, rng: np.random.Generator) -> Array:
    """Return signal plus noise of standard deviation `scale`; for "classification" 1 if that is positive, else 0.

    Noise is normal for "regression" and logistic for "classification", where y follows a logistic regression
    with linear predictor signal · (π/√3) / scale.
    """
    if task == "regression":
        return signal + scale * rng.standard_normal(len(signal))
    noise = rng.logistic(scale=scale * np.sqrt(3) / np.pi, size=len(signal))
    return (signal + noise > 0).astype(int)


def check_task(task: str, snr: float) -> None:
    """Raise if the task is unknown or the signal-to-noise ratio not positive."""
    if task not in ("regression", "classification"):
        raise ValueError(f'task must be "regression" or "classification", got {task!r}')
    if not snr > 0:
        raise ValueError(f"snr, the signal-to-noise ratio, must be positive, got {snr}")
