"""Tables of the experiments, from a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from variegate.comparison import Comparison

from .methods import OURS
from .outputs import write_table


def write_repeats(found: Comparison, out: Path, name: str = "repeats", **more: Any) -> None:
    """One row per repeat and method: scores, size, seconds."""
    wide = found.table.pivot(index=["repeat", "method", "size", "seconds"], columns="metric", values="value")
    wide = wide.reset_index().rename_axis(columns=None)
    order = {name: i for i, name in enumerate(found.methods)}
    wide = wide.sort_values(["repeat", "method"], key=lambda c: c.map(order) if c.name == "method" else c)
    write_table(wide.assign(**more), out, name)


def corrected_error(values: pd.Series, test_share: float) -> float:
    """Standard error of a mean over overlapping splits, √((1/n + ρ/(1−ρ)) var), ρ the fraction of test rows.

    Splits share most of their rows, so the usual standard error is too small. Reference: Nadeau & Bengio (2003),
    Machine Learning 52, 239-281.
    """
    return float(np.sqrt((1 / len(values) + test_share / (1 - test_share)) * values.var(ddof=1)))


def against_ours(found: Comparison, metric: str, test_share: float) -> pd.DataFrame:
    """For each method: mean, its difference from ours on the same splits with its corrected error, and p-values.

    "p" is from Wilcoxon's rank-sum test, as in the paper, "p paired" from his signed-rank test; both corrected by
    Holm's method.
    """
    wide = found.values(metric)
    tests = {test: _p(found, metric, test) for test in ("rank_sum", "signed_rank")}
    rows = []
    for name in wide:
        both = np.isfinite(wide[name]) & np.isfinite(wide[OURS])
        difference = (wide[name] - wide[OURS])[both]
        rows.append(
            {"method": name, "n": int(wide[name].count()), "mean": wide[name].mean(), "sd": _sd(wide[name]),
             "median": wide[name].median(), "lower quartile": _quantile(wide[name], 0.25),
             "upper quartile": _quantile(wide[name], 0.75), "difference": difference.mean(),
             "error": corrected_error(difference, test_share), "p": tests["rank_sum"].get(name, np.nan),
             "p paired": tests["signed_rank"].get(name, np.nan), "infinite": int(np.isinf(wide[name]).sum())}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _quantile(values: pd.Series, q: float) -> float:
    """Quantile without interpolation, so that infinite values count and are never averaged."""
    return float(np.quantile(values.dropna(), q, method="lower"))


def _sd(values: pd.Series) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.std(ddof=1)) if len(finite) == len(values) else np.nan


def _p(found: Comparison, metric: str, test: str) -> dict[str, float]:
    rows = found.statistics(test)
    rows = rows[rows["metric"] == metric]
    return dict(zip(rows["method"], rows["p"], strict=True))


def p_text(p: float) -> str:
    """A p-value as text.

    >>> p_text(0.034), p_text(1e-12), p_text(float("nan"))
    ('0.034', '1e-12', '')
    """
    if not np.isfinite(p):
        return ""
    return f"{p:.1g}" if p < 1e-3 else f"{p:.2g}"


def marks(p: float) -> str:
    """Asterisks for a p-value."""
    return next((mark for level, mark in ((0.001, "***"), (0.01, "**"), (0.05, "*")) if p < level), "")
