"""Results of a comparison: tables, a summary, plots."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .. import metrics, plots
from ..messages import counted
from ..tasks import task_named
from ..types import IntArray
from .study import Study
from .trial import job_key

TESTS = {"signed_rank": metrics.signed_rank, "rank_sum": metrics.rank_sum}
MEASURES = {
    "size": "features chosen",
    "R2": "R² on held-out rows",
    "MSE": "squared error on held-out rows",
    "AUC": "AUC on held-out rows",
    "log loss": "log loss on held-out rows",
    "accuracy": "share of held-out rows classified right",
    "concordance": "concordance on held-out rows",
    "D2": "D² on held-out rows",
    "mean error": "mean error on held-out rows",
    "log det": "diversity (log det; 0: all differ)",
    "largest |r|": "largest |r| of two chosen",
    "mean |r|": "mean |r| of two chosen",
    "distance": "mean distance of two chosen",
    "communities": "communities hit",
    "stability": "stability over splits (1: same sets)",
    "seconds": "seconds to choose",
}
MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of `compare`.

    Attributes
    ----------
    table : data frame
        One row for each repeat, method and metric: repeat, method, metric, value, size, seconds.
    selections : data frame
        One row for each repeat and method: size, own_size (what the reference chose by itself), seconds, positions and
        names of the chosen columns, warnings, error.
    splits : for each repeat the rows of the training and of the test part

    Examples
    --------
    >>> from variegate.comparison import compare
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> found = compare(["omp", "random"], X, X[:, 1], size=1, repeats=2, reference="omp", progress=False)
    >>> found.methods, len(found.selections)
    (['omp', 'random'], 4)
    """

    table: pd.DataFrame = field(repr=False)
    selections: pd.DataFrame = field(repr=False)
    task: str
    reference: str
    n_features: int
    splits: list[tuple[IntArray, IntArray]] = field(default_factory=list, repr=False)

    @property
    def methods(self) -> list[str]:
        """Names, in the order given."""
        return list(self.selections["method"].unique())

    @property
    def failures(self) -> pd.DataFrame:
        """The rows of `selections` in which a method failed, with its error."""
        return self.selections[self.selections["error"].notna()]

    def values(self, metric: str) -> pd.DataFrame:
        """Return one metric: a row for each repeat, a column for each method."""
        rows = self.table[self.table["metric"] == metric]
        if rows.empty:
            known = ", ".join(self.table["metric"].unique())
            raise ValueError(f"metric must be one of {known}, got {metric!r}.")
        wide = rows.pivot(index="repeat", columns="method", values="value")
        return wide.reindex(columns=self.methods).rename_axis(columns=None)

    def statistics(self, test: str = "signed_rank") -> pd.DataFrame:
        """Return n, mean, sd, and the p-value of a difference from the reference, for each metric and method.

        Wilcoxon's signed-rank test on the repeats that both have, or his rank-sum test as in the paper; corrected
        by Holm's method for the number of methods, separately for each metric. Splits of one data set overlap, so
        p-values are too small as statements about new data: they only say whether the difference is more than the luck
        of the split.
        """
        if test not in TESTS:
            raise ValueError(f"test must be one of {', '.join(TESTS)}, got {test!r}.")
        if self.table.empty:
            raise ValueError("Every method failed in every repeat; see .failures.")
        found = [self._statistics(metric, test) for metric in self.table["metric"].unique()]
        return pd.concat(found, ignore_index=True)

    def _statistics(self, metric: str, test: str) -> pd.DataFrame:
        wide = self.values(metric)
        with np.errstate(invalid="ignore"):  # the log det of copies is −inf, and the standard deviation NaN
            mean, sd = wide.mean(), wide.apply(lambda v: np.std(v.dropna(), ddof=1) if v.count() > 1 else np.nan)
        rows = pd.DataFrame({"metric": metric, "method": wide.columns, "n": wide.count().to_numpy()})
        rows = rows.assign(mean=mean.to_numpy(), sd=sd.to_numpy(), p=np.nan)
        others = [name for name in self.methods if name != self.reference]
        p = {name: _p_value(wide, name, self.reference, test) for name in others if self.reference in wide}
        known = {name: value for name, value in p.items() if np.isfinite(value)}
        if known:
            corrected = dict(zip(known, metrics.holm(list(known.values())), strict=True))
            rows["p"] = [corrected.get(name, np.nan) for name in rows["method"]]
        return rows

    def summary(self, test: str = "signed_rank") -> pd.DataFrame:
        """Return mean ± sd for each method (rows) and metric (columns), and the stability of the sets over repeats.

        ↑ and ↓ mean that a method is above or below the reference; `*`, `**`, `***` that p is below 0.05, 0.01, 0.001
        (see `statistics`).
        """
        found = self.statistics(test)
        out = pd.DataFrame(index=pd.Index(self.methods, name="method"))
        out["size"] = self.selections[self.selections["error"].isna()].groupby("method")["size"].mean().round(1)
        for metric, rows in found.groupby("metric", sort=False):
            ours = rows.loc[rows["method"] == self.reference, "mean"]
            cells = [_cell(row, ours.iloc[0] if len(ours) else np.nan) for row in rows.itertuples()]
            out[metric] = pd.Series(cells, index=rows["method"].to_numpy())
        out["stability"] = pd.Series({name: self._stability(name) for name in self.methods}).round(2)
        return out

    def wide(self) -> pd.DataFrame:
        """Return one row for each method: means and standard deviations over the repeats, in self-explanatory columns.

        >>> from variegate.comparison import compare
        >>> X = np.random.default_rng(0).normal(size=(50, 4))
        >>> found = compare(["omp"], X, X[:, 1], size=1, repeats=2, reference="omp", progress=False).wide()
        >>> found.columns[:4].tolist()
        ['method', 'splits', 'features chosen', 'R² on held-out rows: mean']
        """
        good = self.selections[self.selections["error"].isna()].groupby("method")
        out = pd.DataFrame({"splits": good.size(), MEASURES["size"]: good["size"].mean()})
        found = self.statistics()
        for metric, rows in found.groupby("metric", sort=False):
            by_method, name = rows.set_index("method"), MEASURES.get(str(metric), str(metric))
            out[f"{name}: mean"], out[f"{name}: sd"] = by_method["mean"], by_method["sd"]
        out[MEASURES["stability"]] = pd.Series({name: self._stability(name) for name in self.methods})
        out[MEASURES["seconds"]] = good["seconds"].mean()
        return out.reindex(self.methods).rename_axis("method").reset_index()

    def _stability(self, method: str) -> float:
        rows = self.selections[(self.selections["method"] == method) & self.selections["error"].isna()]
        return metrics.stability(list(rows["positions"]), self.n_features) if len(rows) > 1 else np.nan

    def messages(self) -> list[str]:
        """Return what a reader of the tables should know."""
        said: list[str] = []
        failed = self.failures
        for name, rows in failed.groupby("method", sort=False):
            last = rows["error"].iloc[0].splitlines()[-1]
            n = (self.selections["method"] == name).sum()
            said.append(f"{name} failed in {len(rows)} of {counted(n, 'repeat')} ({last}); see .failures.")
        if empty := int((self.selections["own_size"] == 0).sum()):
            said.append(
                f"The set of {self.reference} was empty in {counted(empty, 'repeat')}: all methods chose "
                "one feature there. Give size to compare larger sets."
            )
        if warned := int((self.selections["warnings"].map(len) > 0).sum()):
            first = next(line for lines in self.selections["warnings"] for line in lines)
            said.append(
                f"{warned} of {len(self.selections)} selections came with warnings (e.g. {first}); see .selections."
            )
        return said

    def plot_boxes(self, metric: str | None = None, ax: Any = None) -> Any:
        """Plot a metric, one box for each method (the paper's figures 2 and 3); returns the Axes."""
        metric = task_named(self.task).accuracy if metric is None else metric
        wide = self.values(metric)
        samples = {name: wide[name].dropna().to_numpy() for name in self.methods}
        return plots.boxes(samples, metric, highlighted=self.reference, ax=ax)

    def plot_tradeoff(self, accuracy: str | None = None, diversity: str = "log det", ax: Any = None) -> Any:
        """Plot accuracy against diversity, means of the methods with their standard errors; returns the Axes."""
        accuracy = task_named(self.task).accuracy if accuracy is None else accuracy
        x, y = self.values(diversity), self.values(accuracy)
        pairs = {name: np.column_stack([x[name], y[name]]) for name in self.methods}
        return plots.tradeoff(pairs, diversity, accuracy, highlighted=self.reference, ax=ax)


def _p_value(wide: pd.DataFrame, name: str, reference: str, test: str) -> float:
    pairs = wide[[name, reference]].dropna()
    with np.errstate(invalid="ignore"):
        pairs = pairs[np.isfinite(pairs[name] - pairs[reference]) | (pairs[name] != pairs[reference])]
    return TESTS[test](pairs[name], pairs[reference]) if len(pairs) else np.nan


def _cell(row: Any, ours: float) -> str:
    mark = next((mark for level, mark in MARKS if row.p < level), "")
    arrow = ("↑" if row.mean > ours else "↓") if mark else ""
    if np.isnan(row.mean):
        return "–"
    spread = "" if np.isnan(row.sd) else f" ± {row.sd:.2g}"  # undefined for a single split
    return f"{row.mean:.3g}{spread}{' ' if mark else ''}{arrow}{mark}"


def comparison_of(study: Study, repeats: int, results: Mapping[str, Any]) -> Comparison:
    """Arrange the results of jobs by repeat, then by method as given."""
    labels = study.data.labels
    table, selections = [], []
    for repeat in range(repeats):
        for name in study.methods:
            found = results[job_key(study, repeat, name)]
            S = tuple(found["positions"])
            about = {"repeat": repeat, "method": name}
            cost = {"size": len(S), "seconds": found["seconds"]}
            table += [{**about, "metric": m, "value": value, **cost} for m, value in found["scores"].items()]
            selections.append(
                {**about, **cost, "own_size": found["own_size"], "positions": S, "names": tuple(labels[list(S)]),
                 "warnings": tuple(found["warnings"]), "error": found["error"]}
            )  # fmt: skip
    columns = ["repeat", "method", "metric", "value", "size", "seconds"]
    return Comparison(
        pd.DataFrame(table, columns=columns), pd.DataFrame(selections), study.data.task, study.reference, len(labels),
        [study.split(repeat) for repeat in range(repeats)],
    )  # fmt: skip
