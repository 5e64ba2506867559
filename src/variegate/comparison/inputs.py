"""Read a table and an outcome of any type."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target

from ..baselines import as_method
from ..checks import check_labels, is_whole
from ..naming import column_labels
from ..tasks import as_survival, count_rows, task_named
from ..types import SURVIVAL


class Data(NamedTuple):
    """X (N, M) numbers; y (N,) as its task encodes it; names (M,) of the columns, None if they have none."""

    X: NDArray[Any]
    y: NDArray[Any]
    task: str
    names: NDArray[Any] | None
    classes: tuple[str, ...] = ()

    @property
    def labels(self) -> NDArray[Any]:
        """Names of the columns (M,), x0, x1, … if they have none."""
        return column_labels(self.names, self.X.shape[1])


def plain_number(given: Any) -> Any:
    """A number of numpy's as one of Python's, which a store can hold; anything else as it is."""
    return given.item() if isinstance(given, np.generic) else given


def named_methods(methods: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Methods by name, from a list of names or a dict; rejects what is not a method."""
    if isinstance(methods, str) or not isinstance(methods, Iterable) or not methods:
        raise ValueError(
            f'methods must be a list of names such as ["variegate", "lasso"], or a dict, got {methods!r}.'
        )
    named = dict(methods) if isinstance(methods, Mapping) else {name: name for name in methods}
    for name, method in named.items():
        if not isinstance(name, str):
            raise ValueError(f"methods must be names or a dict {{name: method}}, got {name!r} in a list.")
        as_method(method)
    return named


def as_seed(random_state: Any) -> int:
    """The seed as an int; rejects anything but a non-negative whole number."""
    if not is_whole(random_state) or random_state < 0:
        raise ValueError(f"random_state must be a non-negative whole number, got {random_state!r}.")
    return int(random_state)


def read_data(X: Any, y: Any, task: str | None) -> Data:
    """Check table and outcome, and find the task."""
    check_labels(X)
    names = np.array([str(name) for name in X.columns], dtype=object) if hasattr(X, "columns") else None
    table = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
    if len(table) < 4:
        raise ValueError(f"X must have at least four rows, two of them to test on, got {len(table)}.")
    if task in ("survival", "counts") or getattr(y, "dtype", None) == SURVIVAL:
        rows = count_rows(y) if task == "counts" else as_survival(y)
        if len(rows) != len(table):
            raise ValueError(f"y must have an entry for each of the {len(table)} rows of X, got {len(rows)}.")
        return Data(table, rows, task or "survival", names)
    outcome = column_or_1d(np.asarray(y))
    if len(outcome) != len(table):
        raise ValueError(f"y must have an entry for each of the {len(table)} rows of X, got {len(outcome)}.")
    if outcome.dtype.kind == "O":  # numbers may come as objects
        outcome = np.asarray(pd.Series(outcome).infer_objects())
    if missing := int(pd.isna(outcome).sum()):
        raise ValueError(f"y must have no missing values, got {missing}; drop those rows of X and y.")
    if outcome.dtype.kind == "f" and not np.isfinite(outcome).all():
        raise ValueError("y must be finite, got infinity; drop those rows of X and y.")
    task = task_of(outcome) if task is None else task
    if task_named(task).name == "regression":
        if outcome.dtype.kind not in "fiub":
            raise ValueError(f"y must hold numbers for a regression, got {outcome[:3].tolist()}.")
        return Data(table, outcome.astype(np.float64), "regression", names)
    classes, codes = np.unique(outcome.astype(str) if outcome.dtype.kind == "O" else outcome, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, got only {classes.tolist()}.")
    return Data(table, codes.astype(np.int64), "classification", names, tuple(map(str, classes)))


def task_of(y: NDArray[Any]) -> str:
    """Return "regression" or "classification", if the outcome leaves no doubt."""
    if y.dtype.kind not in "fiu":
        return "classification"
    kind = type_of_target(y)
    if kind == "multiclass":
        raise ValueError(
            f"y holds {len(np.unique(y))} different whole numbers, which may be classes or counts; "
            "say which with task='classification' or task='regression'."
        )
    return "classification" if kind == "binary" else "regression"
