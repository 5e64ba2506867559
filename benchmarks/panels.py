"""What to measure: panels beside the most probable sets and other selectors, on real tables.

Needs the data (the folder VARIEGATE_DATA) for all but two tables; twenty splits of each, a quarter of rows held out.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from skmatter.feature_selection import PCovCUR, PCovFPS

import variegate as vg
from variegate.baselines import Problem, select
from variegate.metrics import log_det, log_loss, mse
from variegate.panels import Panel
from variegate.tasks import TASKS

from .measure import table, versions
from .tables import CLASSES, REGRESSION

SPLITS, SIZES, HELD_OUT = 20, (5, 10, 20), 0.25
WIDE = 500  # columns; of more, PCov-CUR takes minutes a split (an M×M eigendecomposition for each column)
PEERS = ("lasso", "omp", "univariate", "PCov-CUR", "PCov-FPS")
METHODS = ("panel", "most probable", *PEERS)
Row = dict[str, Any]


def peer(name: str, problem: Problem, size: int) -> np.ndarray:
    """The columns that another selector chooses."""
    if name.startswith("PCov"):
        kind = PCovCUR if name == "PCov-CUR" else PCovFPS
        y = problem.residuals if problem.task == "classification" else (problem.y - problem.y.mean())[:, None]
        return np.sort(kind(n_to_select=size).fit(problem.standardised(), y).selected_idx_[:size])
    return select(name, problem, size, np.random.default_rng(0))


def judged(X: np.ndarray, y: np.ndarray, task: str, seed: int) -> list[Row]:
    """Every method and size on one split."""
    warnings.simplefilter("ignore")
    kind, rows = TASKS[task], []
    train, test = train_test_split(
        np.arange(len(y)), test_size=HELD_OUT, random_state=seed, stratify=y if task == "classification" else None
    )
    problem, phi = Problem(X[train], y[train], task), np.asarray(vg.similarity.from_columns(X[train]))

    def add(method: str, size: int, S: np.ndarray, start: float) -> None:
        seconds = time.process_time() - start
        score = kind.scores(X[train][:, S], y[train], X[test][:, S], y[test])[kind.accuracy] if len(S) else np.nan
        rows.append(
            {"method": method, "size": size, "seed": seed, "score": score, "S": S, "log det": log_det(phi, S),
             "seconds": seconds}
        )  # fmt: skip

    for name in PEERS:
        for size in SIZES if name != "PCov-CUR" or X.shape[1] <= WIDE else ():
            start = time.process_time()
            add(name, size, peer(name, problem, size), start)
    start = time.process_time()
    model = (vg.DiverseClassifier if task == "classification" else vg.DiverseRegressor)(random_state=0)
    model.fit(X[train], y[train])
    rows.append(
        {
            "method": "fit",
            "size": 0,
            "seed": seed,
            "seconds": time.process_time() - start,
            **own(model, model.panel_, X, y, train, test),
        }
    )
    for size in SIZES:
        start = time.process_time()
        panel = model.panel(size)
        add("panel", size, panel.columns, start)
        rows[-1] |= own(model, panel, X, y, train, test)
        start = time.process_time()
        add("most probable", size, np.flatnonzero(model.as_support(model.posterior_.map(size))), start)
    return rows


def own(model: Any, panel: Panel, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Row:
    """What the rule of a panel promises, and what held-out rows say; losses are beyond the model's, in nats a row."""
    found: Row = {"members": len(panel.features), "promised": panel.loss / len(train), "lost": panel.lost}
    if hasattr(model, "predict_proba"):
        rule, whole = panel.predict_proba(X[test]), model.predict_proba(X[test])
        return found | {"realised": log_loss(y[test], rule) - log_loss(y[test], whole)}
    low, high = panel.predict_interval(X[test]).T
    found["covered"] = np.mean((low <= y[test]) & (y[test] <= high))
    found["realised"] = 0.5 * np.log(mse(y[test], panel.predict(X[test])) / mse(y[test], model.predict(X[test])))
    return found


def corrected_error(differences: np.ndarray) -> float:
    """Standard error of a mean over splits that share rows (Nadeau and Bengio, 2003)."""
    share = HELD_OUT / (1 - HELD_OUT)
    return float(np.sqrt((1 / len(differences) + share) * differences.var(ddof=1)))


def jaccard(sets: list[np.ndarray]) -> float:
    pairs = [(set(a.tolist()), set(b.tolist())) for i, a in enumerate(sets) for b in sets[:i]]
    return float(np.mean([len(a & b) / max(len(a | b), 1) for a, b in pairs]))


def of(rows: list[Row], method: str, size: int, key: str) -> np.ndarray:
    return np.array([row[key] for row in rows if row["method"] == method and row["size"] == size])


def summary(name: str, rows: list[Row]) -> list[list[object]]:
    """Accuracy and diversity of each size; against the peer that is best on even splits, on odd ones."""
    lines: list[list[object]] = []
    for size in SIZES:
        scores = {m: found for m in METHODS if len(found := of(rows, m, size, "score"))}
        best = max((m for m in PEERS if m in scores), key=lambda method: scores[method][::2].mean())
        ahead = (scores["panel"] - scores[best])[1::2]
        cells = [
            f"{scores[m].mean():.3f} ({of(rows, m, size, 'log det').mean():.1f})" if m in scores else ""
            for m in METHODS
        ]
        lines.append([name, size, *cells, best, f"{ahead.mean():+.3f} ± {corrected_error(ahead):.3f}"])
    return lines


def details(name: str, rows: list[Row]) -> list[list[object]]:
    """Stability and CPU seconds of sets of ten."""
    fit = of(rows, "fit", 0, "seconds").mean()
    cells = []
    for method in METHODS:
        extra = f"{fit:.1f} + " if method in METHODS[:2] else ""
        seconds = of(rows, method, 10, "seconds")
        if not len(seconds):
            cells.append("")
            continue
        alike = jaccard([row["S"] for row in rows if row["method"] == method and row["size"] == 10])
        cells.append(f"{alike:.2f}, {extra}{seconds.mean():.2f} s")
    return [[name, *cells]]


def promises(name: str, rows: list[Row]) -> list[list[object]]:
    """The suggested size, and losses promised and realised."""
    chosen = [row for row in rows if row["method"] == "fit"]
    sizes = np.array([row["members"] for row in chosen])
    cells = []
    for size in (0, *SIZES):
        some = chosen if size == 0 else [r for r in rows if r["method"] == "panel" and r["size"] == size]
        promised, realised = (np.array([row[key] for row in some]) for key in ("promised", "realised"))
        cells.append(f"{promised.mean():.3f} / {realised.mean():.3f} ± {corrected_error(realised):.3f}")
    covered = [row["covered"] for row in chosen if "covered" in row]
    low, middle, high = np.quantile(sizes, [0.05, 0.5, 0.95])
    return [[name, f"{middle:.0f} ({low:.0f} to {high:.0f})", *cells, f"{np.mean(covered):.1%}" if covered else ""]]


def found_on(load: Callable[[], Any], task: str, seeds: Iterable[int]) -> list[Row]:
    """Every method, size and split of one table."""
    X, y = load()
    y = (y == np.unique(y)[1]).astype(int) if task == "classification" else np.asarray(y, dtype=float)
    each = Parallel(n_jobs=2)(delayed(judged)(np.asarray(X, dtype=float), y, task, seed) for seed in seeds)
    return [row for rows in each for row in rows]


def main() -> str:
    found = {}
    for tables, task in ((REGRESSION, "regression"), (CLASSES, "classification")):
        for name, load in tables.items():
            found[name] = found_on(load, task, range(SPLITS))
            print("panels:", *summary(name, found[name]), sep="\n  ", file=sys.stderr, flush=True)
    return written(found)


def written(found: dict[str, list[Row]]) -> str:
    """The tables of RESULTS.md."""
    parts = [[line for name, rows in found.items() for line in of(name, rows)] for of in (summary, details, promises)]
    splits = len({row["seed"] for rows in found.values() for row in rows})
    return "\n\n".join([
        "## What to measure",
        f"`python -m benchmarks panels`. {splits} splits, a quarter of the rows held out. Every set is refitted by "
        "least squares or logistic regression; R² or AUC, in brackets log det (0 is the most diverse). Last columns: "
        "the other method that is best on the even splits, and how far the panel is ahead of it on the odd ones, ± "
        "standard error corrected for rows that splits share.",
        table(["", "size", *METHODS, "best other", "ahead"], parts[0]),
        "Sets of ten: stability (mean Jaccard index of two splits) and CPU seconds; ours with the fit, which all "
        "sizes share:",
        table(["", *METHODS], parts[1]),
        "Suggested sizes (median, 5 % to 95 %), and the loss of the rule beyond that of the whole posterior's "
        "predictions in nats a row: promised / on held-out rows. Last: what 95 % intervals of the rule of suggested "
        "size cover.",
        table(["", "suggested", "suggested size", *(f"{size}" for size in SIZES), "covered"], parts[2]),
        versions("variegate", "numpy", "scikit-learn", "skmatter"),
    ])  # fmt: skip
