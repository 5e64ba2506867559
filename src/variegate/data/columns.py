"""Some columns of a large delimited file, as text: pandas for speed, a second look to name a line."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from .errors import UnreadableInput
from .text import records, shortened


def pick_columns(
    path: str | Path, text: str, delimiter: str, columns: Sequence[int], quoted: bool = True
) -> pd.DataFrame:
    """Return the given columns (positions) of headerless text as text cells, blank lines skipped.

    With `quoted=False` quotes are ordinary characters, except around a whole cell, where they are dropped:
    official exports are not quoted but may hold stray quotes, spreadsheets quote what they save.
    """
    width = text_width(text, delimiter)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pandas warns where it would drop cells
        try:
            frame = pd.read_csv(
                io.BytesIO(text.encode()),
                sep=delimiter,
                header=None,
                names=range(width),
                index_col=False,
                usecols=sorted(set(columns)),
                dtype=str,
                na_filter=False,
                skipinitialspace=delimiter == " ",
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
            )
        except (
            pd.errors.ParserError,
            pd.errors.EmptyDataError,
            pd.errors.ParserWarning,
            ValueError,
        ) as error:
            raise UnreadableInput(_parser_message(path, text, delimiter, str(error))) from None
    for column in frame.columns:
        codes, words = pd.factorize(frame[column].fillna(""))  # few names, many cells
        tidy = [word.strip() if quoted else word.strip().strip('"') for word in words]
        frame[column] = np.array(tidy, dtype=object)[codes]
    return frame[list(columns)]


def text_width(text: str, delimiter: str) -> int:
    """Return the number of columns of the first line that is not blank."""
    line = next((line for line in io.StringIO(text) if line.strip()), "")
    return len(next(csv.reader([line.strip("\n")], delimiter=delimiter, skipinitialspace=delimiter == " "), []))


def check_filled(path: str | Path, frame: pd.DataFrame, text: str, delimiter: str) -> None:
    """Refuse a file where one of the wanted cells is blank, naming the line."""
    blank = (frame == "").any(axis=1)
    if not blank.any():
        return
    position = int(blank.to_numpy().argmax())
    line, cells = position + 1, frame.iloc[position].tolist()
    for i, record in enumerate(records(path, text, delimiter)):
        if i == position:
            line, cells = record.line, record.cells
            break
    raise UnreadableInput(
        f"{path}, line {line}: expected a name in column {max(frame.columns) + 1} and before, got "
        f"'{shortened(delimiter.join(map(str, cells)))}'; delete or complete the line, or give delimiter="
    )


def _parser_message(path: str | Path, text: str, delimiter: str, complaint: str) -> str:
    """Turn pandas' complaint into one that names the line."""
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", complaint)
    if found:
        expected, line, saw = found.groups()
        return (
            f"{path}, line {line}: expected {expected} columns as in the first line, got {saw}; "
            "correct the line, or give delimiter="
        )
    found = re.search(r"EOF inside string starting at row (\d+)", complaint)
    if found:
        return f"{path}, row {int(found[1]) + 1}: a quote is opened and never closed; remove or close it"
    width = text_width(text, delimiter)
    for record in records(path, text, delimiter):
        if len(record.cells) > width:
            return (
                f"{path}, line {record.line}: expected {width} columns as in the first line, got "
                f"{len(record.cells)}; correct the line, or give delimiter="
            )
    return f"{path}: not a readable table ({shortened(complaint, 120)})"
