"""`variegate predict`: a fitted model on new samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from ..candidates import by_column
from ..data import Source, Table, TableReport, TextSource, did_you_mean, open_source, read_table, shortened
from ..estimators import DiverseCounts, DiverseRegressor, DiverseSelector, DiverseSurvival
from ..large import LargeTable
from ..messages import counted
from ..saving import load
from ..tables import csv_text
from ..writing import as_json, new_file, writing
from .files import inputs_of, may_replace
from .large_inputs import NewData, is_read_in_blocks, names_of, read_new_samples
from .messages import Failure, heard_warnings, say
from .outcomes import naming_columns
from .show import printable

QUARTILES = (0.25, 0.5, 0.75)  # of the event times, at which survival is predicted


def run_predict(new: NewData, given: str | None, *, overwrite: bool, json: bool, quiet: bool) -> None:
    """Read, predict, and write to stdout or to a file."""
    if given is None:
        click.echo(printable(_as_text(_predicted(new, quiet), json)), nl=False)
        return
    out, inputs = Path(given), inputs_of([new.model, new.table, new.outcome_table])
    # opened first, to fail before the work starts
    with new_file(out, may_replace(out, overwrite), inputs) as path:
        predicted = _predicted(new, quiet)
        with writing(out):
            path.write_text(_as_text(predicted, json), encoding="utf-8")
    say(f"wrote {counted(len(predicted), 'prediction')} to {out}", quiet)


def _as_text(predicted: pd.DataFrame, json: bool) -> str:
    return as_json(predicted.to_dict("records")) + "\n" if json else csv_text(predicted)


def _predicted(new: NewData, quiet: bool) -> pd.DataFrame:
    with heard_warnings(quiet):
        model = load(new.model)
        _check_exposure(new, model, quiet)
        return _of_large(new, model) if is_read_in_blocks(new.table) else _of_table(new, model)


def _of_table(new: NewData, model: DiverseSelector) -> pd.DataFrame:
    source = open_source(new.table, turned=new.samples == "columns")
    header = tuple(source.columns) if isinstance(source, TextSource) and new.samples == "rows" else ()
    table = _read(source, new, model, header)
    with naming_columns(new.table, new.outcome_table, _roles(new), table):
        X = _aligned(new, model, table, header)
        found = predictions(model, X, new.level, table.y, panel=new.panel)
    found.insert(0, "sample", list(table.samples))
    return found


def _roles(new: NewData) -> dict[str, str]:
    return {} if new.exposure is None else {"exposure": new.exposure}


def _check_exposure(new: NewData, model: DiverseSelector, quiet: bool) -> None:
    """Reject exposures of what is not counted, and say what is predicted without them."""
    counts = isinstance(model, DiverseCounts)
    if new.exposure is not None and not counts:
        raise Failure("--exposure is for models of counts")
    if counts and new.exposure is None and (model.selection_.training.y["exposure"] != 1).any():
        note = "note: the model was fitted with exposures; predicting for an exposure of 1; or give --exposure COLUMN"
        say(note, quiet)


def _of_large(new: NewData, model: DiverseSelector) -> pd.DataFrame:
    """Predict all samples of a table that is read in blocks; it may lack columns that are always included."""
    names = model.selection_.column_names
    read = read_new_samples(new, names[model.selection_.candidates.always].tolist())
    about = Table(np.empty((len(read.ids), 0)), tuple(names), tuple(read.ids), None, None, (), TableReport())
    with naming_columns(new.table, new.outcome_table, _roles(new), about):
        X = _of_panel(new, model, read.table) if new.panel else read.table
        found = predictions(model, X, new.level, read.exposure, panel=new.panel)
    found.insert(0, "sample", read.ids)
    return found


def _of_panel(new: NewData, model: DiverseSelector, table: LargeTable) -> NDArray[Any]:
    """Load the panel's columns (n, c) of a large table, which may lack all others; missing entries are at the mean."""
    selection, place = model.selection_, {str(name): j for j, name in enumerate(names_of(table))}
    names = [str(name) for name in selection.column_names[model.panel_.columns]]
    missing = [name for name in names if name not in place]
    if missing:
        raise _lacking(model, new, missing, list(place))
    found = table.columns(np.array([place[name] for name in names], dtype=np.int64))
    X = np.array(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)
    for i, column in enumerate(model.panel_.columns):
        mean = np.average(selection.training_column(int(column)), weights=selection.training.row_weights)
        X[np.isnan(X[:, i]), i] = mean
    return X


def _used(model: DiverseSelector, new: NewData) -> NDArray[np.bool_]:
    """Return which columns (M,) a prediction needs."""
    if not new.panel:
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


def _read(source: Source, new: NewData, model: DiverseSelector, header: tuple[str, ...]) -> Table:
    """Read the table without the columns that the model does not know, whatever they contain."""
    factors = {factor for factor in _factors(model) if factor is not None}
    names, used = model.selection_.column_names, _used(model, new)
    known = {*map(str, names), *factors}
    if header and used.any() and known.isdisjoint(header) and new.outcome_table is None:
        raise _lacking(model, new, list(map(str, names[used])), header)
    kept = {*known, new.id_column, new.exposure}
    categorical = {*new.categorical, *(name for name in header if name in factors)}
    beside: dict[str, Any] = {}
    if new.outcome_table is not None:
        second = open_source(new.outcome_table)
        also = {*second.columns}
        categorical |= factors & also
        if known & also or new.exposure is not None:  # it may hold the outcome alone
            beside = {"outcome_table": second, "always_include": known & also}
    return read_table(
        source, new.exposure, drop=[name for name in header[1:] if name not in kept], id_column=new.id_column,
        samples=new.samples, missing=_typical(model, used) if new.missing == "impute" else new.missing,
        categorical=categorical, **beside,
    )  # fmt: skip


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


def _lacking(model: DiverseSelector, new: NewData, missing: list[str], known: Sequence[str]) -> Failure:
    """Say which columns are missing, and where they could be."""
    selection, used = model.selection_, _used(model, new)
    always = {str(selection.column_names[j]).partition("=")[0] for j in selection.candidates.always}
    close = did_you_mean(missing[0], known)
    way_out = close or f"; it has {', '.join(map(shortened, known[:5]))}{', …' if len(known) > 5 else ''}"
    if not close and new.outcome_table is None and always.issuperset(m.partition("=")[0] for m in missing):
        way_out += "; if another table has it, give --outcome-table FILE"
    elif not close and new.samples == "rows" and len(missing) >= used.sum():
        way_out += "; if each sample is a column, use --samples columns"
    what = "panel" if new.panel else "model"
    lacks = f"{len(missing)} of the {counted(int(used.sum()), 'column')} that the {what} uses"
    return Failure(f"{new.table} lacks {lacks}, for instance '{shortened(missing[0])}'{way_out}")


def _aligned(new: NewData, model: DiverseSelector, table: Table, header: tuple[str, ...]) -> pd.DataFrame:
    """Arrange the model's columns; unused columns may be missing, and absent categories become 0."""
    selection = model.selection_
    names, factors, used = [str(name) for name in selection.column_names], _factors(model), _used(model, new)
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
        raise _lacking(model, new, missing, header or table.features)
    unknown = [f for f, g in zip(table.features, table.groups, strict=True) if g in factors and g and f not in names]
    if unknown:
        raise Failure(f"the model was not trained on the category {unknown[0]!r}; remove those samples")
    X = np.zeros((len(table.samples), len(names)))
    for i, name in enumerate(names):
        if name in column:
            X[:, i] = table.X[:, column[name]]
    return pd.DataFrame(X, columns=selection.column_names)
