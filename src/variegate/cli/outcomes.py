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
from ..data import labels, shortened
from ..design import ImmoderateColumn
from ..messages import counted
from ..tasks import count_rows, survival_rows
from .messages import Failure, told

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


def outcome_columns(options: Mapping[str, Any]) -> list[str]:
    """Return the columns that are not features."""
    given = [options[name] for name in ("outcome", "time", "event", "entry", "counts", "exposure")]
    return [name for name in given if name is not None]


def outcome_name(options: Mapping[str, Any]) -> str:
    """Return the name of the outcome in the record and the report."""
    return str(options["outcome"] or options["counts"] or f"{options['time']} until {options['event']}")


@contextmanager
def naming_columns(options: Mapping[str, Any], features: Sequence[str], samples: Sequence[str]) -> Iterator[None]:
    """Report an invalid column by its name, and an invalid outcome by file, column and sample."""
    try:
        yield
    except ImmoderateColumn as error:
        name = shortened(features[error.column])
        raise Failure(f"{options['table']}: columns must be of moderate size, got '{name}', {error.why}") from error
    except WrongOutcome as error:
        file = options["outcome_table"] or options["table"]
        sample = "" if error.row is None else f", sample '{shortened(samples[error.row])}'"
        column = (options["outcome"] or options["counts"]) if error.what == "y" else options[error.what]
        raise Failure(f"{file}, column '{shortened(column)}'{sample}: {told(error.must)}") from error


def read_outcome(columns: Any, features: Sequence[str], options: Mapping[str, Any]) -> Outcome:
    """Encode the outcome given by the options; `columns` is an array, or a data frame if there are several."""
    if options["time"]:
        return _survival(columns, options)
    if options["counts"]:
        return _counts(columns, options)
    task, why = outcome_task(columns, str(options["outcome"]), options["task"])
    y = np.asarray(columns, dtype=np.float64) if task == "regression" else labels(columns)
    notes = (why, *_other_kinds(y, str(options["outcome"]), features)) if task == "regression" else (why,)
    return Outcome(y, task, notes)


def _survival(frame: pd.DataFrame, options: Mapping[str, Any]) -> Outcome:
    entry = None if options["entry"] is None else frame[options["entry"]]
    y = survival_rows(frame[options["time"]], frame[options["event"]], entry, happened=options["event_value"])
    happened = int(y["event"].sum())
    told = f"survival: {happened} of {len(y)} samples had the event ({options['event']}), the others were censored"
    few = (
        (f"only {counted(happened, 'sample')} had the event: too few to learn much from",)
        if happened < FEW_VALUES
        else ()
    )
    all_had = (
        f"no sample is censored: samples without the event need the time when they were last seen in "
        f"--time {options['time']}; if it is missing they are dropped, and the result is about the others only",
    )
    return Outcome(y, "survival", (told, *few, *(all_had if happened == len(y) else ())))


def _counts(found: Any, options: Mapping[str, Any]) -> Outcome:
    if options["exposure"] is None:
        return Outcome(count_rows(found), "counts", (f"counts of {options['counts']!r}",))
    y = count_rows(found[options["counts"]], found[options["exposure"]])
    return Outcome(y, "counts", (f"counts of {options['counts']!r} for {options['exposure']!r}",))


def _other_kinds(y: NDArray[Any], name: str, features: Sequence[str]) -> tuple[str, ...]:
    """Suggest an option if the numbers look like survival times or counts."""
    event = next((feature for feature in features if AN_EVENT.fullmatch(feature.partition("=")[0])), None)
    if A_TIME.fullmatch(name) and event is not None and y.min() >= 0:
        column = event.partition("=")[0]
        return (f"if {name!r} is the time until an event or until last seen, use --time {name} --event {column}",)
    if y.min() >= 0 and (y % 1 == 0).all() and y.max() < 100 * max(y.mean(), 1.0) and y.var() > y.mean():
        return (f"if {name!r} holds counts, use --counts {name}",)
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
