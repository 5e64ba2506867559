"""Real tables: accuracy of averaged predictions, coverage of intervals, and agreement of two halves of the rows.

Needs the data (the folder VARIEGATE_DATA); ten splits of each table, a fifth of the rows held out.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import variegate as vg
from variegate import datasets

from .measure import table, versions

SPLITS = 10
REGRESSION = {
    "tecator": datasets.load_tecator,
    "gasoline": datasets.load_gasoline,
    "diabetes, products": lambda: datasets.load_diabetes(expand=True),
    "crime": datasets.load_communities_crime,
}
CLASSES = {"colon": datasets.load_colon, "leukemia": datasets.load_leukemia}


def methods(classes: bool) -> dict[str, object]:
    """The methods; the other ones choose their penalty by cross-validation."""
    ours = vg.DiverseClassifier if classes else vg.DiverseRegressor
    found = {
        "variegate": ours(random_state=0),
        "q by the ELBO": ours(solver="rao_blackwell", random_state=0),
    }
    if classes:
        peers = {
            name: LogisticRegressionCV(Cs=10, cv=5, l1_ratios=(ratio,), solver="liblinear", scoring="roc_auc",
                                       use_legacy_attributes=False)
            for name, ratio in (("l1 logistic", 1.0), ("l2 logistic", 0.0))
        }  # fmt: skip
    else:
        peers = {"LassoCV": LassoCV(cv=5, alphas=50), "RidgeCV": RidgeCV(np.logspace(-6, 6, 25))}
    return found | {name: make_pipeline(StandardScaler(), peer) for name, peer in peers.items()}


def run_table(name: str, load: object, classes: bool, splits: int = SPLITS) -> tuple[dict, dict, list[float]]:
    """Scores and seconds of each method, and the coverage of our intervals."""
    data = load()
    y = (data.y == np.unique(data.y)[1]) if classes else data.y
    scores, seconds, covered = {}, {}, []
    for split in range(splits):
        parts = train_test_split(data.X, y, test_size=0.2, random_state=split, stratify=y if classes else None)
        X, X_test, outcome, outcome_test = parts
        for label, method in methods(classes).items():
            start = time.perf_counter()
            method.fit(X, outcome)
            if classes:
                score = roc_auc_score(outcome_test, method.predict_proba(X_test)[:, 1])
            else:
                score = r2_score(outcome_test, method.predict(X_test))
            seconds.setdefault(label, []).append(time.perf_counter() - start)
            scores.setdefault(label, []).append(score)
            if label == "variegate" and not classes:
                low, high = method.predict_interval(X_test).T
                covered.append(np.mean((low <= outcome_test) & (outcome_test <= high)))
    return scores, seconds, covered


def halves(load: object, classes: bool, splits: int = 2) -> list[float]:
    """Correlation of inclusion probabilities between disjoint halves of the rows, for the chain and for q."""
    data = load()
    y = (data.y == np.unique(data.y)[1]) if classes else data.y
    found: list[list[float]] = [[], []]
    for split in range(splits):
        one, two, y_one, y_two = train_test_split(
            data.X, y, test_size=0.5, random_state=split, stratify=y if classes else None
        )
        for agreement, label in zip(found, ("variegate", "q by the ELBO"), strict=True):
            p, r = (
                methods(classes)[label].fit(*part).inclusion_probabilities_ for part in ((one, y_one), (two, y_two))
            )
            agreement.append(np.corrcoef(p, r)[0, 1])
    return [float(np.nanmean(agreement)) for agreement in found]


def main() -> str:
    warnings.simplefilter("ignore")
    lines, last = [], []
    for classes, tables in ((False, REGRESSION), (True, CLASSES)):
        labels, rows = list(methods(classes)), []
        for name, load in tables.items():
            scores, seconds, covered = run_table(name, load, classes)
            print(
                name, {label: round(float(np.mean(v)), 3) for label, v in scores.items()}, file=sys.stderr, flush=True
            )
            best = max(np.mean(values) for values in scores.values())
            cells = [f"{np.mean(v):.3f} ± {np.std(v, ddof=1) / np.sqrt(len(v)):.3f}" for v in scores.values()]
            gap = np.mean(scores["variegate"]) - best
            first, second = halves(load, classes)
            last.append(
                [name, f"{np.mean(covered):.1%}" if covered else "", f"{first:.2f}", f"{second:.2f}",
                 f"{np.mean(seconds['variegate']):.1f}", f"{gap:+.3f}"]
            )  # fmt: skip
            rows.append([name, *cells])
        lines += [table([("AUC" if classes else "R²"), *labels], rows), ""]
    head = ["", "95 % intervals cover", "halves agree: variegate", "halves agree: q", "seconds", "behind the best"]
    return "\n".join(
        [
            "## Real tables",
            "",
            f"{SPLITS} splits, a fifth of the rows held out; mean ± standard error. Averaged predictions. "
            "`python -m benchmarks tables`",
            "",
            *lines,
            table(head, last),
            "",
            versions("variegate", "numpy", "scikit-learn"),
        ]
    )
