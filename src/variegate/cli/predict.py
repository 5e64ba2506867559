"""`variegate predict`: a fitted model on new samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from ..candidates import by_column
from ..data import Source, Table, TextSource, did_you_mean, open_source, read_table, shortened, trusting
from ..estimators import DiverseCounts, DiverseRegressor, DiverseSelector, DiverseSurvival
from ..large import LargeTable
from ..messages import counted
from ..saving import load
from .files import inputs_of, new_file, writing
from .inputs import reading_options
from .large_inputs import is_read_in_blocks, names_of, read_new_samples
from .messages import Failure, heard_warnings, say
from .outcomes import naming_columns
from .record import as_json
from .show import csv_text, printable

QUARTILES = (0.25, 0.5, 0.75)  # of the event times, at which survival is predicted


def run_predict(options: Mapping[str, Any]) -> pd.DataFrame:
    """Read, predict, and write to stdout or to a file."""
    if options["out"] is None:
        predicted, text = _predicted(options)
        click.echo(printable(text), nl=False)
        return predicted
    out = Path(options["out"])
    # opened first, to fail before the work starts
    with new_file(out, options["overwrite"], inputs_of(options)) as path:
        predicted, text = _predicted(options)
        with writing(out):
            path.write_text(text, encoding="utf-8")
    say(f"wrote {counted(len(predicted), 'prediction')} to {out}", options["quiet"])
    return predicted


def _predicted(options: Mapping[str, Any]) -> tuple[pd.DataFrame, str]:
    """Return the predictions as a frame and as text."""
    with heard_warnings(options["quiet"]), trusting(options["trust"]):
        model = load(options["model"])
        predicted = _of_large(options, model) if is_read_in_blocks(options["table"]) else _of_table(options, model)
    return predicted, as_json(predicted.to_dict("records")) + "\n" if options["as_json"] else csv_text(predicted)


def _of_table(options: Mapping[str, Any], model: DiverseSelector) -> pd.DataFrame:
    how = reading_options(options)
    source = open_source(options["table"], how["delimiter"], turned=how["samples"] == "columns")
    header = tuple(source.columns) if isinstance(source, TextSource) and how["samples"] == "rows" else ()
    _check_exposure(options, model)
    table = _read(source, options, model, header)
    named = {**options, "outcome": None, "counts": None}
    with naming_columns(named, table.features, list(map(str, table.samples))):
        X = _aligned(options, model, table, header)
        found = predictions(model, X, options["level"], table.y, panel=options["panel"])
    found.insert(0, "sample", list(table.samples))
    return found


def _check_exposure(options: Mapping[str, Any], model: DiverseSelector) -> None:
    """Reject exposures of what is not counted, and say what is predicted without them."""
    counts = isinstance(model, DiverseCounts)
    if options["exposure"] is not None and not counts:
        raise Failure("--exposure is for models of counts")
    if counts and options["exposure"] is None and (model.selection_.training.y["exposure"] != 1).any():
        note = "note: the model was fitted with exposures; predicting for an exposure of 1; or give --exposure COLUMN"
        say(note, options["quiet"])


def _of_large(options: Mapping[str, Any], model: DiverseSelector) -> pd.DataFrame:
    """Predict all samples of a table that is read in blocks; it may lack columns that are always included."""
    _check_exposure(options, model)
    names = model.selection_.column_names
    new = read_new_samples(options, names[model.selection_.candidates.always].tolist())
    with naming_columns({**options, "outcome": None, "counts": None}, names.tolist(), new.ids.tolist()):
        X = _of_panel(options, model, new.table) if options["panel"] else new.table
        found = predictions(model, X, options["level"], new.exposure, panel=options["panel"])
    found.insert(0, "sample", new.ids)
    return found


def _of_panel(options: Mapping[str, Any], model: DiverseSelector, table: LargeTable) -> NDArray[Any]:
    """Load the panel's columns (n, c) of a large table, which may lack all others; missing entries are at the mean."""
    selection, place = model.selection_, {str(name): j for j, name in enumerate(names_of(table))}
    names = [str(name) for name in selection.column_names[model.panel_.columns]]
    missing = [name for name in names if name not in place]
    if missing:
        raise _lacking(model, options, missing, list(place))
    found = table.columns(np.array([place[name] for name in names], dtype=np.int64))
    X = np.array(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)
    for i, column in enumerate(model.panel_.columns):
        mean = np.average(selection.training_column(int(column)), weights=selection.training.row_weights)
        X[np.isnan(X[:, i]), i] = mean
    return X


def _used(model: DiverseSelector, options: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which columns (M,) a prediction needs."""
    if not options["panel"]:
        return model.selection_.used
    used = np.zeros(model.selection_.candidates.n_columns, dtype=bool)
    used[model.panel_.columns] = True
    return used


def predictions(
    model: DiverseSelector, X: Any, level: float, exposure: Any = None, *, panel: bool = False
) -> pd.DataFrame:
    """Predict each row, with an interval; add probabilities for classes, and survival at a few times.

    The interval covers the outcome for numbers and counts, the probability of the second class if there are two, of
    each class against the rest if there are more, and the risk (log hazard ratio) for survival. With `panel` by the
    panel's rule: X has the columns of the panel, or all.
    """
    by: Any = model.panel_ if panel else model
    if isinstance(model, DiverseCounts | DiverseRegressor):
        return _of_numbers(model, X, level, exposure, panel)
    interval = by.predict_interval(X, level)
    if isinstance(model, DiverseSurvival):
        found, times = _with_interval(interval, risk=by.predict(X)), model.unique_times_
        curves = by.predict_survival_function(X)
        for k in np.unique(np.quantile(np.arange(len(times)), QUARTILES).astype(int)):
            found[f"survival[{times[k]:g}]"] = [float(curve(times[k])) for curve in curves]
        return found
    p = by.predict_proba(X)
    columns: dict[str, Any] = {"prediction": model.classes_[p.argmax(axis=1)]}
    columns |= {f"probability[{label}]": p[:, k] for k, label in enumerate(model.classes_)}
    shown = (
        {model.classes_[1]: interval}
        if interval.ndim == 2
        else dict(zip(model.classes_, np.swapaxes(interval, 0, 1), strict=True))
    )
    for label, ends in shown.items():
        columns |= {f"lower[{label}]": ends[:, 0], f"upper[{label}]": ends[:, 1]}
    return pd.DataFrame(columns)


def _of_numbers(
    model: DiverseCounts | DiverseRegressor, X: Any, level: float, exposure: Any, panel: bool
) -> pd.DataFrame:
    """Predict numbers, or counts with an exposure."""
    if panel:
        (law,) = model.panel_.rule.laws(X, exposure)
        return _with_interval(law.interval(level), prediction=model.panel_.predict(X, exposure), std=law.std)
    how = {"exposure": exposure} if isinstance(model, DiverseCounts) else {}
    mean, std = model.predict(X, return_std=True, **how)
    return _with_interval(model.predict_interval(X, level, **how), prediction=mean, std=std)


def _with_interval(interval: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({**columns, "lower": interval[:, 0], "upper": interval[:, 1]})


def _read(source: Source, options: Mapping[str, Any], model: DiverseSelector, header: tuple[str, ...]) -> Table:
    """Read the table without the columns that the model does not know, whatever they contain."""
    how = reading_options(options)
    factors = {factor for factor in _factors(model) if factor is not None}
    names, used = model.selection_.column_names, _used(model, options)
    known = {*map(str, names), *factors}
    exposure = options["exposure"]
    if header and used.any() and known.isdisjoint(header) and options["outcome_table"] is None:
        raise _lacking(model, options, list(map(str, names[used])), header)
    kept = {*known, how["id_column"], exposure}
    drop = [name for name in header[1:] if name not in kept]
    how["categorical"] = {*how["categorical"], *(name for name in header if name in factors)}
    if how["missing"] == "impute":
        how["missing"] = _typical(model, used)
    if options["outcome_table"] is not None:
        second = open_source(options["outcome_table"], how["delimiter"])
        also = {*second.columns} - {options["outcome_id"]}
        how["categorical"] |= factors & also
        if known & also or exposure is not None:  # in a run.json it may hold the outcome alone
            how |= {"outcome_table": second, "outcome_id": options["outcome_id"], "always_include": known & also}
    return read_table(source, exposure, drop=drop, **how)


def _factors(model: DiverseSelector) -> list[str | None]:
    """Return the categorical column behind each model column ("stage" for "stage=II"), or None."""
    names = [str(name) for name in model.selection_.column_names]
    groups = by_column(model.groups, model.selection_.column_names, len(names), "groups")
    if groups is None:
        groups = _guessed_groups(model, names)
    pairs = zip(names, map(str, groups), strict=True)
    return [group if name.startswith(f"{group}=") and group not in names else None for name, group in pairs]


def _guessed_groups(model: DiverseSelector, names: list[str]) -> list[str | None]:
    """Return the category behind each column by their names alone; a quantity called "ratio=a/b" has none."""
    prefixes = [name.partition("=")[0] if "=" in name else None for name in names]
    quantities = {
        prefix
        for j, prefix in enumerate(prefixes)
        if prefix is not None and not np.isin(model.selection_.training_column(j), (0, 1)).all()
    }
    return [None if prefix in quantities else prefix for prefix in prefixes]


def _typical(model: DiverseSelector, used: NDArray[np.bool_]) -> dict[str, float | str]:
    """Return the value to impute in each column: the median of the training rows, or their most common category.

    Every model file holds these rows. Cells imputed before the fit do not change either value.
    """
    found: dict[str, float | str] = {}
    most: dict[str, float] = {}
    selection = model.selection_
    columns = zip(map(str, selection.column_names), _factors(model), used, strict=True)
    references = set(selection.candidates.references.tolist())
    for j, (name, factor, needed) in enumerate(columns):
        if factor is None:
            found[name] = (
                float(np.median(model.selection_.training_column(j))) if needed else 0.0
            )  # unused: any value works
            continue
        # the reference category is the most common one
        count = np.inf if j in references else model.selection_.training_column(j).sum()
        if count > most.get(factor, -1.0):
            found[factor], most[factor] = name.removeprefix(f"{factor}="), count
    return found


def _lacking(model: DiverseSelector, options: Mapping[str, Any], missing: list[str], known: Sequence[str]) -> Failure:
    """Say which columns are missing, and where they could be."""
    selection, used = model.selection_, _used(model, options)
    always = {str(selection.column_names[j]).partition("=")[0] for j in selection.candidates.always}
    close = did_you_mean(missing[0], known)
    way_out = close or f"; it has {', '.join(map(shortened, known[:5]))}{', …' if len(known) > 5 else ''}"
    if not close and options["outcome_table"] is None and always.issuperset(m.partition("=")[0] for m in missing):
        way_out += "; if another table has it, give --outcome-table FILE"
    elif not close and options["samples"] == "rows" and len(missing) >= used.sum():
        way_out += "; if each sample is a column, use --samples columns"
    what = "panel" if options["panel"] else "model"
    lacks = f"{len(missing)} of the {counted(int(used.sum()), 'column')} that the {what} uses"
    return Failure(f"{options['table']} lacks {lacks}, for instance '{shortened(missing[0])}'{way_out}")


def _aligned(
    options: Mapping[str, Any], model: DiverseSelector, table: Table, header: tuple[str, ...]
) -> pd.DataFrame:
    """Arrange the model's columns; unused columns may be missing, and absent categories become 0."""
    selection = model.selection_
    names, factors, used = [str(name) for name in selection.column_names], _factors(model), _used(model, options)
    column = {name: j for j, name in enumerate(table.features)}
    present = {group for group in table.groups if group is not None}
    missing = [
        name
        for name, factor, u in zip(names, factors, used, strict=True)
        if u and name not in column and factor not in present
    ]
    if missing and missing[0] in present:
        raise Failure(f"column {missing[0]!r} held numbers when the model was fitted, but holds text here")
    if missing:
        raise _lacking(model, options, missing, header or table.features)
    new = [f for f, g in zip(table.features, table.groups, strict=True) if g in factors and g and f not in names]
    if new:
        raise Failure(f"the model was not trained on the category {new[0]!r}; remove those samples")
    X = np.zeros((len(table.samples), len(names)))
    for i, name in enumerate(names):
        if name in column:
            X[:, i] = table.X[:, column[name]]
    return pd.DataFrame(X, columns=selection.column_names)
