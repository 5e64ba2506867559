"""How much a selection changes with the samples."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import stats

from ..sets import as_index_set, jaccard_distance, membership
from ..types import FloatArray


def stability(sets: Sequence[npt.ArrayLike], n_features: int) -> float:
    """Agreement of n selections from M features, corrected for chance: 1 if all are equal, about 0 if random.

        1 − [ (1/M) Σ_f n/(n−1) p_f (1 − p_f) ] / [ k̄/M (1 − k̄/M) ]

    with p_f the frequency of feature f and k̄ the mean size; nan if every set is empty, or every set is full.
    Reference: Nogueira, Sechidis & Brown (2018), "On the stability of feature selection algorithms", JMLR 18(174).

    >>> stability([[0, 1], [0, 1], [0, 1]], 5)
    1.0
    """
    Z = _members(sets, n_features)
    n, p = len(Z), Z.mean(axis=0)
    chance = p.mean() * (1 - p.mean())
    if chance == 0:
        return np.nan
    return float(1 - n / (n - 1) * (p * (1 - p)).mean() / chance)


def stability_interval(sets: Sequence[npt.ArrayLike], n_features: int, level: float = 0.95) -> tuple[float, float]:
    """Confidence interval of `stability`, from its asymptotic normal distribution (theorem 7 of the same paper).

    >>> low, high = stability_interval([[0, 1], [0, 2], [0, 1]], n_features=5)
    >>> low < stability([[0, 1], [0, 2], [0, 1]], 5) < high
    True
    """
    Z = _members(sets, n_features)
    value = stability(sets, n_features)
    share, p = Z.mean(axis=1), Z.mean(axis=0)  # fraction of features in each set, and of sets with each feature
    mean = p.mean()
    if np.isnan(value):
        return np.nan, np.nan
    agreement = (Z @ p) / n_features - share * mean + value / 2 * (2 * mean * share - share - mean + 1)
    terms = agreement / (mean * (1 - mean))
    half = stats.norm.ppf((1 + level) / 2) * 2 * np.sqrt(np.square(terms - terms.mean()).sum()) / len(Z)
    return float(value - half), float(value + half)


def mean_jaccard(sets: Sequence[npt.ArrayLike]) -> float:
    """Mean of |A ∩ B| / |A ∪ B| over all pairs of sets; two empty sets count as equal.

    >>> mean_jaccard([[0, 1], [1, 2]])  # doctest: +ELLIPSIS
    0.333...
    """
    _check_several(sets)
    arrays = [np.unique(np.asarray(S, dtype=np.int64)) for S in sets]
    return float(np.mean([1 - jaccard_distance(A, B) for A, B in combinations(arrays, 2)]))


def _members(sets: Sequence[npt.ArrayLike], n_features: int) -> FloatArray:
    """One row of zeros and ones per set (n, M)."""
    _check_several(sets)
    return membership([as_index_set(S, n_features, "a set") for S in sets], n_features).astype(np.float64)


def _check_several(sets: Sequence[npt.ArrayLike]) -> None:
    if len(sets) < 2:
        raise ValueError(f"sets must hold at least two sets to compare, got {len(sets)}.")
