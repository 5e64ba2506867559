"""Whether a difference between methods could be chance."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

Alternative = Literal["two-sided", "less", "greater"]


def rank_sum(a: npt.ArrayLike, b: npt.ArrayLike, alternative: Alternative = "two-sided") -> float:
    """p-value of Wilcoxon's rank-sum test that a and b have the same distribution.  Paper: figures 2 and 3.

    Exact if one sample has at most 8 values and there are no ties, else a normal approximation corrected for ties.

    >>> rank_sum([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]) < 0.05
    True
    """
    return float(stats.mannwhitneyu(a, b, alternative=alternative).pvalue)


def signed_rank(a: npt.ArrayLike, b: npt.ArrayLike, alternative: Alternative = "two-sided") -> float:
    """p-value of Wilcoxon's signed-rank test on pairs, such as two methods on the same splits.

    Pairs without a difference are left out; if none is left, the result is 1.

    >>> signed_rank([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.1, 2.2, 3.3, 4.4, 5.5, 6.6]) < 0.05
    True
    """
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    difference = difference[difference != 0]
    return float(stats.wilcoxon(difference, alternative=alternative).pvalue) if len(difference) else 1.0


def holm(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """p-values corrected for multiple tests by Holm's method, which controls the family-wise error rate.

        p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j)),  p_(1) ≤ … ≤ p_(m)

    Reference: Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p_values must be a list of numbers from 0 to 1, got {p_values!r}.")
    order = np.argsort(p, kind="stable")
    scaled = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(scaled)
    return corrected
