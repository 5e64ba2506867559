"""What diversity costs: accuracy of panels of several sizes and diversities."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import plots
from ..baselines import diverse_path, select
from ..candidates import by_column
from ..checks import is_number, is_whole
from ..estimators import EmptySelectionWarning
from ..messages import counted
from ..tasks import task_named
from ..types import IntArray
from .identity import described
from .inputs import as_seed, named_methods, plain_number, read_data
from .runner import Results, caught, is_done, run_jobs
from .study import Study

DIVERSITIES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SIZES = (2, 4, 6, 8, 10)
OTHERS = ("omp", "lasso", "univariate")
OURS = "variegate"
CHANCE = {"R2": 0.0, "AUC": 0.5, "concordance": 0.5, "D2": 0.0}  # accuracy of guessing
WHOLE = -1  # the job on all rows, which finds the sets


@dataclass(frozen=True, eq=False)
class Frontier:
    """Results of `frontier`.

    Attributes
    ----------
    points : data frame
        One row for each diversity and size, and for each other method and size: method, diversity (NaN for others),
        size, the accuracy's mean over the folds and its standard error (`accuracy`, `error`), `log det` and
        `largest |r|` of the sets (means over the folds), and the set found on all rows (`positions`, `names`).
    table : data frame
        Every fold: method, diversity, size, fold, metric, value.
    metric : the name of the accuracy
    task : "regression", "classification", "survival" or "counts"

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.normal(size=(60, 3)), 2, axis=1) + 0.3 * rng.normal(size=(60, 6))
    >>> y = X[:, 0] + X[:, 1] + X[:, 2]
    >>> found = frontier(X, y, diversities=[0, 8], sizes=[2], methods=["omp"], cv=3, progress=False)
    >>> found.points[["method", "diversity", "size"]].values.tolist()
    [['variegate', 0.0, 2], ['variegate', 8.0, 2], ['omp', nan, 2]]
    """

    points: pd.DataFrame = field(repr=False)
    table: pd.DataFrame = field(repr=False)
    metric: str
    task: str

    def recommended(self, size: int | None = None) -> pd.Series:
        """Return the most diverse of our sets with an accuracy within one standard error of the best.

        With `size`, only sets of that size are considered. The standard error is averaged over the sets considered:
        that of the best alone tends to be too small, since the best is partly lucky.
        """
        best, error, ours = self._best(size)
        enough = ours[ours["accuracy"] >= best["accuracy"] - error]
        return enough.loc[enough["log det"].idxmax()]

    def _best(self, size: int | None) -> tuple[pd.Series, float, pd.DataFrame]:
        """Return the most accurate of our points, the average standard error, and all of our points (of that size)."""
        ours = self.points[self.points["method"] == OURS]
        if size is not None:
            ours = ours[ours["size"] == size]
        if ours.empty:
            known = ", ".join(map(str, sorted(self.points["size"].unique())))
            raise ValueError(f"size must be one of {known}, got {size!r}.")
        error = float(np.sqrt(np.square(ours["error"]).mean()))
        return ours.loc[ours["accuracy"].idxmax()], error, ours

    def sentence(self, size: int | None = None) -> str:
        """Return the recommendation in words."""
        chosen, (best, error, _) = self.recommended(size), self._best(size)
        if not best["accuracy"] > CHANCE[self.metric]:
            return (
                f"No set predicts better than guessing: the best has {self.metric} {best['accuracy']:.3f}, guessing "
                f"{CHANCE[self.metric]:g}."
            )
        reason = (
            f"no set is more accurate, and none within one standard error ({error:.2g}) of it is more diverse"
            if chosen.name == best.name
            else f"the most diverse set within one standard error ({error:.2g}) of the best, {best['accuracy']:.3f}"
        )
        told = f"log det {chosen['log det']:.2f}, largest |r| {chosen['largest |r|']:.2f}"
        return (
            f"Recommended: {counted(chosen['size'], 'feature')} at diversity {chosen['diversity']:g} ({self.metric} "
            f"{chosen['accuracy']:.3f}, {told}): {reason}."
        )

    def plot(self, size: int | None = None, ax: Any = None) -> Any:
        """Plot accuracy against log det: a line for each size, other methods as points; returns the Axes."""
        shown = self.points if size is None else self.points[self.points["size"] == size]
        return plots.frontier(shown, self.metric, self.recommended(size), ours=OURS, ax=ax)


def frontier(
    X: Any,
    y: Any,
    *,
    diversities: Sequence[float] = DIVERSITIES,
    sizes: Sequence[int] = SIZES,
    methods: Sequence[str] | Mapping[str, Any] = OTHERS,
    cv: int = 5,
    repeats: int | None = None,
    test_size: float = 0.2,
    similarity: Any = "columns",
    task: str | None = None,
    screen: Any = None,
    kernel: Any = None,
    communities: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    store: str | Path | None = None,
    progress: bool = True,
) -> Frontier:
    """Find out what diversity costs: accuracy by cross-validation for a range of diversities and sizes.

    In each fold one short fit finds how strongly coefficients are shrunk; then a search finds the panel of
    each size at each diversity. Sets are scored as in `compare`.

    Parameters
    ----------
    X : (N, M) array or data frame; y : (N,) numbers or labels of any type
    diversities : exponents of the volume; see the estimators
    sizes : numbers of features; impossible ones are left out
    methods : other methods to show, as in `compare`
    cv : number of folds
    repeats, test_size : random splits instead of folds, as in `compare`
    similarity, task, screen, kernel, communities, random_state, n_jobs, store, progress : as in `compare`

    Returns
    -------
    Frontier
        Points, a recommendation, a plot.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 6))
    >>> y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60)
    >>> found = frontier(X, y, diversities=[0, 1], sizes=[1, 2], methods=["omp"], cv=3, progress=False)
    >>> found.recommended()["names"]
    ('x0', 'x1')
    """
    data = read_data(X, y, task)
    others = named_methods(methods) if len(methods) else {}
    M = data.X.shape[1]
    _check(diversities, sizes, cv if repeats is None else repeats, len(data.y), M)
    folds, parts = (int(cv), int(cv)) if repeats is None else (None, int(repeats))
    study = Study(
        data, others, "", None, similarity, kernel, None, by_column(communities, data.names, M, "communities"),
        plain_number(screen), plain_number(test_size), as_seed(random_state), folds,
    )  # fmt: skip
    asked = (sorted({float(d) for d in diversities}), sorted({int(k) for k in sizes}))
    results = run_jobs(
        partial(run_fold, asked=asked), study,
        lambda known: [(fold,) for fold in range(WHOLE, parts) if not is_done(known, str(fold))],
        store=store, call=lambda: _call(study, asked), n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    return _frontier_of(study, {str(fold): results[str(fold)] for fold in range(WHOLE, parts)})


def _call(study: Study, asked: tuple[list[float], list[int]]) -> dict[str, Any]:
    methods = {name: described(method, name) for name, method in study.methods.items()}
    asked_for = {"diversities": asked[0], "sizes": asked[1], "folds": study.folds, "methods": methods}
    return {**study.call(), "kind": "frontier", **asked_for}


def _check(diversities: Any, sizes: Any, parts: Any, n_rows: int, n_columns: int) -> None:
    if not (len(list(diversities)) and all(is_number(d) and d >= 0 for d in diversities)):
        raise ValueError(f"diversities must be non-negative numbers, at least one, got {diversities!r}.")
    if not (len(list(sizes)) and all(is_whole(k) and 1 <= k <= n_columns for k in sizes)):
        raise ValueError(f"sizes must be whole numbers from 1 to {n_columns}, at least one, got {sizes!r}.")
    if not (is_whole(parts) and 2 <= parts <= n_rows):
        raise ValueError(f"cv, or repeats, must be a whole number from 2 to {n_rows}, got {parts!r}.")


def run_fold(study: Study, fold: int, asked: tuple[list[float], list[int]]) -> Results:
    """Return the sets of one fold with their scores, or of all rows without scores. Never raises."""
    return caught(str(fold), lambda: {"rows": _rows(study, fold, asked)})


def _rows(study: Study, fold: int, asked: tuple[list[float], list[int]]) -> list[dict[str, Any]]:
    (diversities, sizes), every = asked, np.arange(len(study.data.y))
    part = study.prepared(every, every) if fold == WHOLE else study.part(fold)
    path = diverse_path(part.problem, diversities, sizes, np.random.default_rng(study.sequence(fold + 1)))
    found: list[tuple[str, float | None, int, IntArray]] = [(OURS, beta, size, S) for beta, size, S in path]
    reached = sorted({size for _, size, _ in path})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptySelectionWarning)
        for i, (name, method) in enumerate(study.methods.items()):
            for size in reached:
                rng = np.random.default_rng(study.sequence(fold + 1, i, size))
                found.append((name, None, size, select(method, part.problem, size, rng)))
    return [
        {"method": name, "diversity": beta, "size": size, "positions": part.kept[S].tolist(),
         "scores": {} if fold == WHOLE else study.scores(part, S)}
        for name, beta, size, S in found
    ]  # fmt: skip


def _frontier_of(study: Study, results: Mapping[str, Any]) -> Frontier:
    failed = [result["error"] for result in results.values() if result["error"] is not None]
    if failed:
        raise ValueError(f"{len(failed)} of {len(results)} folds failed, the first with:\n{failed[0]}")
    table = pd.DataFrame(
        [
            {**{name: row[name] for name in ("method", "diversity", "size")}, "fold": fold, "metric": m, "value": v}
            for fold in range(len(results) - 1)
            for row in results[str(fold)]["rows"]
            for m, v in row["scores"].items()
        ]
    ).astype({"diversity": float})
    metric = task_named(study.data.task).accuracy
    labels = study.data.labels
    points = []
    for row in results[str(WHOLE)]["rows"]:
        beta = np.nan if row["diversity"] is None else row["diversity"]
        same = (table["method"] == row["method"]) & (table["size"] == row["size"])
        same &= table["diversity"].isna() if np.isnan(beta) else table["diversity"] == beta
        values = {m: rows["value"].to_numpy() for m, rows in table[same].groupby("metric")}
        if metric not in values:  # a size that was impossible in every fold
            continue
        error = values[metric].std(ddof=1) / np.sqrt(len(values[metric])) if len(values[metric]) > 1 else np.nan
        judged = {m: values[m].mean() for m in ("log det", "largest |r|", "communities") if m in values}
        points.append(
            {"method": row["method"], "diversity": beta, "size": row["size"], "accuracy": values[metric].mean(),
             "error": error, **judged, "positions": tuple(row["positions"]),
             "names": tuple(labels[row["positions"]].tolist())}
        )  # fmt: skip
    return Frontier(pd.DataFrame(points), table, metric, study.data.task)
