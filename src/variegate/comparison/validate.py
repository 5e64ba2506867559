"""How well panels predict on held-out rows, the whole procedure in the folds."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from ..checks import is_whole
from ..estimators import ESTIMATORS, DiverseSelector
from ..tasks import task_named
from ..types import IntArray
from .inputs import as_seed, read_data
from .runner import Results, run_jobs


def validate(
    model: DiverseSelector,
    X: Any,
    y: Any,
    sizes: Iterable[int] = (),
    *,
    cv: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Cross-validate the panels of an estimator: fit, choice and rule see the training rows only.

    Returns a row for each size and for "suggested", the panel without a size: the mean size, the accuracy of the
    panel's rule on held-out rows (R², AUC, concordance or deviance explained) and its standard error over the folds,
    the share of the model's predictions that the panel loses as it expects, and the accuracy of the whole model.

    >>> import variegate as vg
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y = X[:, 0] + 2 * X[:, 2] + 0.5 * np.random.default_rng(1).normal(size=60)
    >>> found = validate(vg.DiverseRegressor(random_state=0), X, y, sizes=[1], cv=3)
    >>> found["panel"].tolist(), bool(found["accuracy"][0] < found["accuracy"][1])
    (['1', 'suggested'], True)
    """
    if not isinstance(model, DiverseSelector):
        raise ValueError(f"model must be one of {', '.join(k.__name__ for k in ESTIMATORS.values())}, got {model!r}.")
    if not isinstance(sizes, Iterable):
        raise ValueError(f"sizes must be a list, such as [2, 5, 10], got {sizes!r}.")
    task = next(name for name, kind in ESTIMATORS.items() if isinstance(model, kind))
    codes = read_data(X, y, task).y
    if not (is_whole(cv) and 2 <= cv <= len(codes)):
        raise ValueError(f"cv must be a number of folds from 2 to {len(codes)}, the number of rows, got {cv!r}.")
    strata = task_named(task).strata(codes)
    folds = (KFold if strata is None else StratifiedKFold)(cv, shuffle=True, random_state=as_seed(random_state))
    splits = list(folds.split(np.zeros(len(codes)), strata))
    asked = [*sizes, None]
    jobs = [(number, *split) for number, split in enumerate(splits)]
    found = run_jobs(_fold, (model, X, codes, task, asked), lambda _: jobs, n_jobs=n_jobs)
    table = pd.DataFrame([row for number in range(cv) for row in found[str(number)]])
    table["error"] = table["accuracy"]
    how = {"size": "mean", "accuracy": "mean", "error": "sem", "lost": "mean", "model": "mean"}
    return table.groupby("panel", sort=False).agg(how).reset_index()


def _fold(shared: Any, number: int, train: IntArray, test: IntArray) -> Results:
    model, X, codes, task, sizes = shared
    fitted = clone(model).fit(_safe_indexing(X, train), codes[train])
    held_out, kind = _safe_indexing(X, test), task_named(task)

    def accuracy(of: Any) -> float:
        predicted = of.predict_proba(held_out) if task == "classification" else of.predict(held_out)
        return kind.score(codes[test], predicted)

    whole, rows = accuracy(fitted), []
    for size in sizes:
        panel = fitted.panel_ if size is None else fitted.panel(size)
        name = "suggested" if size is None else str(size)
        found = accuracy(panel)
        rows.append(
            {"panel": name, "size": len(panel.features), "accuracy": found, "lost": panel.lost, "model": whole}
        )
    return {str(number): rows}
