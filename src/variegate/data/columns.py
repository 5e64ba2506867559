"""Some columns of a large delimited file as text: pandas for speed, a second pass to find a bad line."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..messages import Argument, Message, Words
from .errors import UnreadableInput
from .text import line_of, open_quote, records, shortened


def pick_columns(
    path: str | Path, text: str, delimiter: str, columns: Sequence[int], quoted: bool = True
) -> pd.DataFrame:
    """Return the given columns (positions) of headerless text as text cells, blank lines skipped.

    With `quoted=False` quotes are ordinary characters, except around a whole cell, where they are removed:
    official exports do not quote cells but may contain stray quotes, and spreadsheets quote what they save.
    """
    width = text_width(path, text, delimiter, quoted)
    head = delimiter.join(map(str, range(width + 1))) + "\n"  # one extra column, to detect lines that are too long
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas warns before it drops cells
        try:
            frame = pd.read_csv(
                io.BytesIO((head + text).encode()),
                sep=delimiter,
                index_col=False,
                usecols=sorted({*columns, width}),
                dtype=str,
                na_filter=False,
                skipinitialspace=True,
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
            )
        except (
            pd.errors.ParserError,
            pd.errors.EmptyDataError,
            pd.errors.ParserWarning,
            ValueError,
        ) as error:
            raise UnreadableInput(_parser_message(path, text, delimiter, quoted, str(error))) from None
    frame.columns = frame.columns.astype(int)
    if frame.pop(width).fillna("").any():
        raise UnreadableInput(_parser_message(path, text, delimiter, quoted, "long lines"))
    for column in frame.columns:
        codes, words = pd.factorize(frame[column].fillna(""))  # few names, many cells
        tidy = [word.strip() if quoted else word.strip().strip('"') for word in words]
        frame[column] = np.array(tidy, dtype=object)[codes]
    return frame[list(columns)]


def export_rows(
    path: str | Path, text: str, delimiter: str, columns: Mapping[str, int], filled: Sequence[str]
) -> pd.DataFrame:
    """Return columns of BioGRID's or STRING's file below its header, {name: position}; `filled`: never blank."""
    rows = pick_columns(path, text, delimiter, list(columns.values()), quoted=False)
    check_filled(path, rows[[columns[name] for name in filled]], text, delimiter, quoted=False)
    return rows.iloc[1:].set_axis(list(columns), axis=1)


def text_width(path: str | Path, text: str, delimiter: str, quoted: bool = True) -> int:
    """Return the number of columns of the first record."""
    top = next(records(path, text, delimiter, quoted), None)
    return 0 if top is None else len(top.cells)


def check_filled(path: str | Path, frame: pd.DataFrame, text: str, delimiter: str, quoted: bool = True) -> None:
    """Reject a file with a blank cell, and name its line."""
    blank = (frame == "").any(axis=1)
    if not blank.any():
        return
    row = int(blank.to_numpy().argmax())
    column = 1 + int(frame.columns[(frame.iloc[row] == "").to_numpy().argmax()])
    line = line_of(path, text, delimiter, row, quoted)
    got = shortened(text.split("\n")[line - 1])
    other = (Words(", or give columns or delimiter"),)
    raise UnreadableInput(
        Message(
            f"{path}, line {line}: expected something in column {column}, got '{got}'; delete or complete the line",
            *(other if quoted else (f" (columns end at {delimiter!r})",)),
        )
    )


def _parser_message(path: str | Path, text: str, delimiter: str, quoted: bool, complaint: str) -> str:
    """Turn a pandas error into a message that names the line."""
    if "EOF inside string" in complaint:
        return open_quote(path, text, delimiter)
    width = text_width(path, text, delimiter, quoted)
    for record in records(path, text, delimiter, quoted):
        if len(record.cells) > width:
            return Message(
                f"{path}, line {record.line}: expected {width} columns as in the first line, got "
                f"{len(record.cells)}; correct the line, or give ",
                Argument("delimiter"),
            )
    return f"{path}: not a readable table ({shortened(complaint, 120)})"
