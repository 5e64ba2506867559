"""How well the outcome is predicted: scikit-learn's measures under short names, for class codes 0, …, K−1."""

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy
from sklearn import metrics
from sklearn.metrics import mean_squared_error as mse
from sklearn.metrics import r2_score as r2

from ..types import FloatArray

__all__ = ["auc", "deviance_explained", "log_loss", "mse", "r2"]


def auc(y: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Area under the ROC curve; with K > 2 classes the mean over one-vs-rest.

    `scores` are (n,) for the second of two classes, or probabilities (n, K).

    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    given = np.asarray(scores)
    if given.ndim == 2 and given.shape[1] == 2:
        given = given[:, 1]
    return float(metrics.roc_auc_score(y, given, multi_class="ovr", labels=_codes(given)))


def log_loss(y: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Mean of −log p(y); probabilities are (n,) for the second of two classes, or (n, K).

    >>> log_loss([0, 1], [0.5, 0.5])  # doctest: +ELLIPSIS
    0.693...
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim == 1:
        p = np.stack([1 - p, p], axis=1)
    return float(metrics.log_loss(y, p, labels=_codes(p)))


def _codes(scores: npt.NDArray[np.floating]) -> npt.NDArray[np.int64] | None:
    """All classes; a small test set may lack some."""
    return np.arange(scores.shape[1]) if scores.ndim == 2 else None


def deviance_explained(y: npt.ArrayLike, mean: npt.ArrayLike, exposure: npt.ArrayLike | None = None) -> float:
    """1 − D(y, mean) / D(y, a constant rate), D the Poisson deviance: 0 is guessing, 1 is perfect.

    >>> deviance_explained([1.0, 4.0], [1.0, 4.0])
    1.0
    """
    counts, expected = np.asarray(y, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    size = np.ones_like(counts) if exposure is None else np.asarray(exposure, dtype=np.float64)
    constant = size * counts.sum() / size.sum()
    worst = _deviance(counts, constant)
    return float(1.0 - _deviance(counts, expected) / worst) if worst > 0 else np.nan


def _deviance(y: FloatArray, mean: FloatArray) -> float:
    return 2.0 * float((xlogy(y, np.where(y > 0, y, 1.0) / mean) - (y - mean)).sum())
