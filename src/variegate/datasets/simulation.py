"""What every simulator returns, and outcomes with a known share of signal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import Network

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Simulation:
    """Data whose truth is known.

    Attributes
    ----------
    X, y : (N, M) features; (N,) numbers, or 0 and 1
    truth : sorted indices of the features that matter
    coef : (M,) their coefficients, 0 elsewhere
    groups : (M,) block or module of each feature
    features : M names
    X_test, y_test : more of the same
    graph : the features' network, if there is one
        Its node names are `features`.
    sites, centres, widths : where the samples are, and where and how wide the features, if those are places

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
    """Return ±(1 ± spread), uniformly, at the true features and 0 elsewhere, shape (M,)."""
    coef = np.zeros(M)
    coef[truth] = rng.choice([-1.0, 1.0], size=len(truth))
    if spread:
        coef[truth] *= rng.uniform(1 - spread, 1 + spread, size=len(truth))
    return coef


def draw_outcome(signal: Array, scale: float, task: str, rng: np.random.Generator) -> Array:
    """Return signal plus noise of standard deviation `scale`; for "classification" whether it is positive.

    Noise is normal for "regression" and logistic for "classification", where y then follows a logistic
    regression with the linear predictor signal · (π/√3) / scale.
    """
    if task == "regression":
        return signal + scale * rng.standard_normal(len(signal))
    noise = rng.logistic(scale=scale * np.sqrt(3) / np.pi, size=len(signal))
    return (signal + noise > 0).astype(int)


def check_task(task: str, snr: float) -> None:
    """Refuse an unknown task or a signal-to-noise ratio that is not positive."""
    if task not in ("regression", "classification"):
        raise ValueError(f'expected task "regression" or "classification", got {task!r}')
    if not snr > 0:
        raise ValueError(f"expected a positive signal-to-noise ratio, got {snr}")
