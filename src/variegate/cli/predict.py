"""`variegate predict`: a fitted model on new samples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data import Table, read_table
from ..data.csv_table import open_text_table
from ..saving import load
from ..tables import feature_names
from .files import new_file
from .inputs import reading_options
from .messages import Failure, heard_warnings, say
from .record import as_json

TEXT = (".csv", ".tsv", ".txt", ".tab")


def run_predict(options: Mapping[str, Any]) -> pd.DataFrame:
    """Read, predict, and write to stdout or to a file."""
    with heard_warnings(options["quiet"]):
        model = load(options["model"])
        table = _read(options, model)
        predicted = predictions(model, _aligned(model, table), options["level"])
    predicted.insert(0, "sample", list(table.samples))
    text = as_json(predicted.to_dict("records")) + "\n" if options["as_json"] else predicted.to_csv(index=False)
    if options["out"] is None:
        click.echo(text, nl=False)
        return predicted
    with new_file(Path(options["out"]), options["overwrite"]) as path:
        path.write_text(text, encoding="utf-8")
    say(f"wrote {len(predicted)} predictions to {options['out']}", options["quiet"])
    return predicted


def predictions(model: Any, X: pd.DataFrame, level: float) -> pd.DataFrame:
    """Prediction and interval of each row; for classes also their probabilities.

    The interval is that of the outcome in regression, of the probability of the second class with two classes, and of
    each class against the rest with more.
    """
    interval = model.predict_interval(X, level)
    if not hasattr(model, "classes_"):
        mean, std = model.predict(X, return_std=True)
        return pd.DataFrame({"prediction": mean, "std": std, "lower": interval[:, 0], "upper": interval[:, 1]})
    columns: dict[str, Any] = {"prediction": model.predict(X)}
    for k, label in enumerate(model.classes_):
        columns[f"probability[{label}]"] = model.predict_proba(X)[:, k]
    shown = (
        {model.classes_[1]: interval}
        if interval.ndim == 2
        else dict(zip(model.classes_, np.swapaxes(interval, 0, 1), strict=True))
    )
    for label, ends in shown.items():
        columns |= {f"lower[{label}]": ends[:, 0], f"upper[{label}]": ends[:, 1]}
    return pd.DataFrame(columns)


def _read(options: Mapping[str, Any], model: Any) -> Table:
    """The table without the columns that the model does not know, whatever they hold."""
    how, path = reading_options(options), options["table"]
    drop: list[str] = []
    if how["samples"] == "rows" and Path(path.removesuffix(".gz")).suffix.lower() in TEXT:
        names = open_text_table(path, how["delimiter"]).columns
        known = {str(name) for name in feature_names(model)}
        known |= {name.partition("=")[0] for name in known}  # "stage" of "stage=II"
        drop = [name for name in names[1:] if name not in known and name != how["id_column"]]
    return read_table(path, drop=drop, **how)


def _aligned(model: Any, table: Table) -> pd.DataFrame:
    """The columns of the model; those that no set uses may be missing, and categories that do not occur are 0."""
    names = [str(name) for name in feature_names(model)]
    column = {name: j for j, name in enumerate(table.features)}
    factors = {group for group in table.groups if group is not None}
    used = _used(model)
    missing = [
        n for n, u in zip(names, used, strict=True) if u and n not in column and n.partition("=")[0] not in factors
    ]
    if missing:
        raise Failure(
            f"the table lacks {len(missing)} of the {used.sum()} columns that the model uses, for instance "
            f"{missing[0]!r}; it has {', '.join(table.features[:5])}, …"
        )
    known = {name.partition("=")[0] for name in names if "=" in name}
    new = [f for f, g in zip(table.features, table.groups, strict=True) if g in known and f not in names]
    if new:
        raise Failure(f"the model has never seen the category {new[0]!r}; leave those samples out")
    X = np.zeros((len(table.samples), len(names)))
    for i, name in enumerate(names):
        if name in column:
            X[:, i] = table.X[:, column[name]]
    return pd.DataFrame(X, columns=feature_names(model))


def _used(model: Any) -> NDArray[np.bool_]:
    """Columns (M,) that are in some set that predictions are averaged over."""
    used = np.zeros(model.n_features_in_, dtype=bool)
    for S in model._predicting_sets():
        used |= model._candidates.mask(S)
    return used
