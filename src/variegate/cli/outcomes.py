"""Turn columns of a table into an outcome and its task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..checks import WrongOutcome
from ..data import Table, labels, shortened
from ..design import ImmoderateColumn
from ..messages import counted
from ..settings import Settings
from ..tasks import count_rows, survival_rows
from .messages import Failure

FEW_VALUES = 10  # whole numbers with at most this many distinct values are read as classes
MANY_CLASSES = 50
A_TIME = re.compile(
    r"(days|weeks|months|years|time|survival|os|pfs|dfs|follow.?up)([ _.].*)?|.*[ _.](time|days|months|years)", re.I
)
AN_EVENT = re.compile(
    r"(event|status|died|dead|death|deceased|vital.status|censor(ed)?|relapsed?|progressed)([ _.].*)?", re.I
)


class Outcome(NamedTuple):
    """An encoded outcome, its task, and notes on choices made for the user."""

    y: NDArray[Any]
    task: str
    notes: tuple[str, ...]


@contextmanager
def naming_columns(path: str, second: str | None, columns: Mapping[str, str], table: Table) -> Iterator[None]:
    """Report an invalid column by its name, and an invalid outcome by file, column and sample."""
    try:
        yield
    except ImmoderateColumn as error:
        name = shortened(table.features[error.column])
        raise Failure(f"{path}: columns must be of moderate size, got '{name}', {error.why}") from error
    except WrongOutcome as error:
        sample = "" if error.row is None else f", sample '{shortened(str(table.samples[error.row]))}'"
        column = columns["outcome" if error.what == "y" else error.what]
        raise Failure(f"{second or path}, column '{shortened(column)}'{sample}: {error.must}") from error


def read_outcome(found: Any, features: Sequence[str], settings: Settings) -> Outcome:
    """Encode the outcome of a run; `found` is an array, or a data frame if there are several columns."""
    columns = settings.columns
    if settings.time:
        return _survival(found, columns, settings.happened)
    name, exposure = columns["outcome"], columns.get("exposure")
    if settings.task == "counts" and exposure is None:
        return Outcome(count_rows(found), "counts", (f"counts of {name!r}",))
    if settings.task == "counts":
        return Outcome(count_rows(found[name], found[exposure]), "counts", (f"counts of {name!r} for {exposure!r}",))
    task, why = outcome_task(found, name, settings.task)
    y = np.asarray(found, dtype=np.float64) if task == "regression" else labels(found)
    return Outcome(y, task, (why, *(_other_kinds(y, name, features) if task == "regression" else ())))


def _survival(frame: pd.DataFrame, columns: Mapping[str, str], value: str | None) -> Outcome:
    entry = frame[columns["entry"]] if "entry" in columns else None
    y = survival_rows(frame[columns["time"]], frame[columns["event"]], entry, happened=value)
    happened = int(y["event"].sum())
    notes = [f"survival: {happened} of {len(y)} samples had the event ({columns['event']}), the others were censored"]
    if happened < FEW_VALUES:
        notes.append(f"only {counted(happened, 'sample')} had the event: too few to learn much from")
    if happened == len(y):
        notes.append(
            "no sample is censored: samples without the event need the time when they were last seen in "
            f"--time {columns['time']}; if it is missing they are dropped, and the result is about the others only"
        )
    return Outcome(y, "survival", tuple(notes))


def _other_kinds(y: NDArray[Any], name: str, features: Sequence[str]) -> tuple[str, ...]:
    """Suggest an option if the numbers look like survival times or counts."""
    event = next((feature for feature in features if AN_EVENT.fullmatch(feature.partition("=")[0])), None)
    if A_TIME.fullmatch(name) and event is not None and y.min() >= 0:
        column = event.partition("=")[0]
        return (f"if {name!r} is the time until an event or until last seen, use --time {name} --event {column}",)
    if y.min() >= 0 and (y % 1 == 0).all() and y.max() < 100 * max(y.mean(), 1.0) and y.var() > y.mean():
        return (f"if {name!r} holds counts, use --task counts",)
    return ()


def outcome_task(y: Any, name: str, asked: str | None) -> tuple[str, str]:
    """Return "regression" or "classification", and a sentence that says why."""
    values = np.asarray(y)
    distinct = pd.unique(values)
    numeric = values.dtype.kind in "fiu"
    shown = ", ".join(map(str, sorted(labels(distinct[:4]).tolist())))
    if len(values) < 2:
        raise Failure("the table must have at least two samples, got one; is the file complete?")
    if len(distinct) < 2:
        raise Failure(f"the outcome {name!r} is the same for all samples ({shown}); nothing to predict")
    if asked == "regression" and not numeric:
        raise Failure(
            f"the outcome {name!r} holds text ({shown}), but regression needs numbers; use --task classification"
        )
    if asked == "regression":
        return "regression", f"regression of {name!r}, as requested"
    if (asked == "classification" or not numeric) and len(distinct) > min(MANY_CLASSES, len(values) // 2):
        way_out = "use --task regression" if numeric else "is it a column of names?"
        raise Failure(f"the outcome {name!r} has {len(distinct)} distinct values, too many for classes; {way_out}")
    whole = not numeric or bool((np.asarray(values, dtype=np.float64) % 1 == 0).all())
    two = len(distinct) == 2 and len(values) > 2  # two rows of numbers always have two values
    if asked == "classification" or not numeric or two:
        told = "as requested" if asked else "since it holds text" if not numeric else "since it has two values"
        return "classification", f"classification of {name!r} into {len(distinct)} classes ({shown}), {told}"
    if whole and len(distinct) <= FEW_VALUES and len(values) >= 3 * len(distinct):
        return "classification", (
            f"classification of {name!r}: {len(distinct)} distinct whole numbers, read as classes; "
            "if they are quantities, use --task regression"
        )
    return "regression", f"regression of {name!r}, since it holds numbers"
