"""Real tables: averaged predictions, coverage of intervals, and agreement of two halves of the rows.

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
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import variegate as vg

from .measure import table, versions

SPLITS, HELD_OUT = 20, 0.2


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


def splits(y: np.ndarray, classes: bool) -> list[Any]:
    """Training and test rows."""
    kind = StratifiedShuffleSplit if classes else ShuffleSplit
    return list(kind(SPLITS, test_size=HELD_OUT, random_state=0).split(np.zeros(len(y)), y))


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


def main() -> str:
    warnings.simplefilter("ignore")
    lines, last = [], []
    for classes, tables in ((False, REGRESSION), (True, CLASSES)):
        labels, rows, metric = list(methods(classes)), [], "AUC" if classes else "R2"
        for name, load in tables.items():
            X, y = load()
            y = (y == np.unique(y)[1]).astype(int) if classes else np.asarray(y, dtype=float)
            scores, seconds, covered = averaged(X, y, classes, splits(y, classes))
            means = {label: round(float(np.mean(v)), 3) for label, v in scores.items()}
            print(f"tables: {name} {means}", file=sys.stderr, flush=True)
            rows.append(
                [name, *(f"{np.mean(v):.3f} ± {np.std(v, ddof=1) / np.sqrt(len(v)):.3f}" for v in scores.values())]
            )
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
            versions("variegate", "numpy", "scikit-learn"),
        ]
    )
