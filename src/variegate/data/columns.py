"""Some columns of a large delimited file as text."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from .errors import UnreadableInput
from .text import records, refuse


def pick_columns(
    path: str | Path, text: str, delimiter: str, columns: Sequence[int], quoted: bool = True
) -> pd.DataFrame:
    """Return the given columns (positions) of headerless text as text cells, blank lines skipped.

    With `quoted=False` quotes are ordinary characters, except around a whole cell, where they are removed:
    official exports do not quote cells but may contain stray quotes, and spreadsheets quote what they save.
    """
    width = len(next(records(path, text, delimiter, quoted)).cells)
    head = delimiter.join(map(str, range(width + 1)))  # one more, to detect lines that are too long
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas warns before it drops cells
        try:
            frame = pd.read_csv(
                io.BytesIO(f"{head}\n{text}".encode()),
                sep=delimiter,
                index_col=False,
                usecols=sorted({*columns, width}),
                dtype=str,
                na_filter=False,
                skipinitialspace=True,
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
            )
        except (ValueError, pd.errors.ParserWarning) as error:
            refuse(path, text, delimiter, width, error, quoted)
    frame.columns = frame.columns.astype(int)
    if frame.pop(width).fillna("").any():
        refuse(path, text, delimiter, width, ValueError("long lines"), quoted)
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
    check_filled(path, rows[[columns[name] for name in filled]], f" (columns end at {delimiter!r})")
    return rows.iloc[1:].set_axis(list(columns), axis=1)


def check_filled(path: str | Path, frame: pd.DataFrame, hint: str) -> None:
    """Reject a file with a blank cell, and name its row."""
    blank = (frame == "").to_numpy()
    if blank.any():
        row, column = np.argwhere(blank)[0]
        raise UnreadableInput(
            f"{path}, row {row + 1}, not counting blank lines and comments: expected something in column "
            f"{frame.columns[column] + 1}, got nothing; delete or complete it{hint}"
        )
