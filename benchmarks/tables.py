"""Real tables: averaged predictions, sets of ten, coverage of intervals, and agreement of two halves of the rows.

Needs the data (the folder VARIEGATE_DATA) for all but two tables; twenty splits of each, a fifth of the rows held out.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from experiments import data
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import variegate as vg
from variegate.comparison import Comparison

from .measure import table, versions

SPLITS, SIZE = 20, 10
OTHERS = ["omp", "lasso", "univariate"]


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    return load_breast_cancer(return_X_y=True)


def of(load: Callable[[], Any]) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Columns and outcome of one of our data sets."""

    def found() -> tuple[np.ndarray, np.ndarray]:
        data = load()
        return data.X, data.y

    return found


REGRESSION = {
    "tecator": of(data.load_tecator),
    "gasoline": of(data.load_gasoline),
    "diabetes, products": of(lambda: data.load_diabetes(expand=True)),
    "crime": of(data.load_communities_crime),
}
CLASSES = {"breast cancer": breast_cancer, "colon": of(data.load_colon), "leukemia": of(data.load_leukemia)}


def methods(classes: bool) -> dict[str, Any]:
    """The methods; penalties of the others are chosen by cross-validation."""
    if not classes:
        scaled = {"LassoCV": LassoCV(cv=5, alphas=50), "RidgeCV": RidgeCV(np.logspace(-6, 6, 25))}
        ours, boosted = vg.DiverseRegressor(random_state=0), HistGradientBoostingRegressor(random_state=0)
    else:
        scaled = {
            name: LogisticRegressionCV(Cs=10, cv=5, l1_ratios=(ratio,), solver="liblinear", scoring="roc_auc",
                                       use_legacy_attributes=False)
            for name, ratio in (("l1 logistic", 1.0), ("l2 logistic", 0.0))
        }  # fmt: skip
        ours, boosted = vg.DiverseClassifier(random_state=0), HistGradientBoostingClassifier(random_state=0)
    peers = {name: make_pipeline(StandardScaler(), peer) for name, peer in scaled.items()}
    return {"variegate": ours, **peers, "gradient boosting": boosted}


def sets_of_ten(X: np.ndarray, y: np.ndarray, classes: bool) -> Comparison:
    return vg.compare(
        ["variegate", *OTHERS], X, y, task="classification" if classes else "regression", size=SIZE, repeats=SPLITS,
        n_jobs=2, progress=False,
    )  # fmt: skip


def averaged(X: np.ndarray, y: np.ndarray, classes: bool, splits: list[Any]) -> tuple[dict, dict, list[float]]:
    """Scores and seconds of each method, and the coverage of our intervals."""
    scores: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    covered = []
    for train, test in splits:
        for label, method in methods(classes).items():
            start = time.perf_counter()
            method.fit(X[train], y[train])
            if classes:
                score = roc_auc_score(y[test], method.predict_proba(X[test])[:, 1])
            else:
                score = r2_score(y[test], method.predict(X[test]))
            seconds.setdefault(label, []).append(time.perf_counter() - start)
            scores.setdefault(label, []).append(score)
            if label == "variegate" and not classes:
                low, high = method.predict_interval(X[test]).T
                covered.append(np.mean((low <= y[test]) & (y[test] <= high)))
    return scores, seconds, covered


def halves(X: np.ndarray, y: np.ndarray, classes: bool, splits: int = 2) -> float:
    """Correlation of inclusion probabilities between disjoint halves of the rows."""
    found = []
    for split in range(splits):
        one, two, y_one, y_two = train_test_split(
            X, y, test_size=0.5, random_state=split, stratify=y if classes else None
        )
        ours = methods(classes)["variegate"]
        p, r = (ours.fit(*part).inclusion_probabilities_ for part in ((one, y_one), (two, y_two)))
        found.append(np.corrcoef(p, r)[0, 1])
    return float(np.nanmean(found))


def of_sets(name: str, found: Comparison, metric: str) -> list[list[object]]:
    """Rows about the sets of ten."""
    summary, seconds = found.summary(), found.selections.groupby("method")["seconds"].mean()
    rows = []
    for method in found.methods:
        accuracy, log_det = found.values(metric)[method], found.values("log det")[method]
        finite = log_det[np.isfinite(log_det)]
        told = f"{finite.mean():.1f}" if len(finite) == len(log_det) else f"−∞ in {len(log_det) - len(finite)}"
        error = accuracy.std(ddof=1) / np.sqrt(len(accuracy))
        rows.append(
            [name, method, f"{accuracy.mean():.3f} ± {error:.3f}", told,
             f"{found.values('largest |r|')[method].mean():.2f}", f"{summary.loc[method, 'stability']:.2f}",
             f"{seconds[method]:.2f}"]
        )  # fmt: skip
    return rows


def main() -> str:
    warnings.simplefilter("ignore")
    lines, sets, last = [], [], []
    for classes, tables in ((False, REGRESSION), (True, CLASSES)):
        labels, rows, metric = list(methods(classes)), [], "AUC" if classes else "R2"
        for name, load in tables.items():
            X, y = load()
            y = (y == np.unique(y)[1]).astype(int) if classes else np.asarray(y, dtype=float)
            found = sets_of_ten(X, y, classes)
            scores, seconds, covered = averaged(X, y, classes, found.splits)
            means = {label: round(float(np.mean(v)), 3) for label, v in scores.items()}
            print(f"tables: {name} {means}", file=sys.stderr, flush=True)
            rows.append(
                [name, *(f"{np.mean(v):.3f} ± {np.std(v, ddof=1) / np.sqrt(len(v)):.3f}" for v in scores.values())]
            )
            sets += of_sets(name, found, metric)
            behind = np.mean(scores["variegate"]) - max(np.mean(values) for values in scores.values())
            last.append(
                [name, f"{np.mean(covered):.1%}" if covered else "", f"{halves(X, y, classes):.2f}",
                 f"{np.mean(seconds['variegate']):.1f}", f"{np.mean(seconds['gradient boosting']):.1f}",
                 f"{behind:+.3f}"]
            )  # fmt: skip
        lines += [table([metric, *labels], rows), ""]
    head = ["", "95 % intervals cover", "halves agree", "seconds", "seconds, boosting", "behind the best"]
    return "\n".join(
        [
            "## Real tables",
            "",
            f"{SPLITS} splits, a fifth of the rows held out; mean ± standard error. `python -m benchmarks tables`",
            "",
            "Averaged predictions:",
            "",
            *lines,
            table(head, last),
            "",
            f"Sets of {SIZE}, refitted by least squares or logistic regression:",
            "",
            table(["", "", "R2 or AUC", "log det", "largest r", "stability", "seconds"], sets),
            "",
            versions("variegate", "numpy", "scikit-learn"),
        ]
    )
