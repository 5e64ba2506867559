"""Tables in CSV and TSV files."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..messages import Argument, Message
from .errors import DataWarning, UnreadableInput
from .text import (
    check_delimiter,
    find_delimiter,
    first_record,
    is_comment,
    line_of,
    open_quote,
    read_text,
    records,
    shortened,
)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?"]


@dataclass(frozen=True)
class TextTable:
    """The text of a delimited file, its column names, and how many lines pandas has to skip.

    Those are the header and the blank lines above it; a line break inside a quoted name begins no new line.
    """

    path: Path
    text: str
    delimiter: str
    columns: tuple[str, ...]
    skip: int

    def line_of(self, row: int) -> int:
        """Return the line, from 1, of a row below the header, from 0."""
        return line_of(self.path, self.text, self.delimiter, row + 1)


def open_text_table(path: str | Path, delimiter: str | None = None) -> TextTable:
    """Read a file's text and header; comment lines ('#') above the header are skipped.

    A header one shorter than the lines below it (as R writes them) lacks the name of the first column,
    which is then ""; or of the last, if that is blank, since delimiters end the lines.
    """
    check_delimiter(delimiter)
    text, said = _without_separator_line(_below_comments(read_text(path)))
    line = first_record(text)
    delimiter = delimiter or said or find_delimiter(path, line)
    lines = records(path, text, delimiter)
    header, below = next(lines, None), next(lines, None)
    if header is None or below is None:
        if text.count('"') % 2:
            raise UnreadableInput(open_quote(path, text, delimiter))
        raise UnreadableInput(f"{path}: expected a header and at least one row below it, got less; is it complete?")
    columns = [cell.strip() for cell in header.cells]
    alone = len(columns) == 1 and any(other in line for other in "\t,;|")  # divided by something else
    if len(below.cells) == len(columns) + 1 and not alone:
        columns = ["", *columns] if below.cells[-1].strip() else [*columns, ""]
    if len(columns) < 2:
        raise UnreadableInput(
            Message(
                f"{path}: expected several columns, but with the delimiter {delimiter!r} there is one: "
                f"'{shortened(line)}'; give another ",
                Argument("delimiter"),
            )
        )
    check_names(columns, str(path), "columns")
    _warn_numbers(path, columns)
    skip = header.line - sum(cell.count("\n") for cell in header.cells)
    return TextTable(Path(path), text, delimiter, tuple(columns), skip)


def parse_text_table(table: TextTable, text_columns: Sequence[int] = (0,)) -> pd.DataFrame:
    """Return the rows below the header: numbers where a column has only numbers, text elsewhere.

    The given columns stay text, word for word: ids and gene symbols may read like "NA" or "1e5".
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pandas warns where it would drop cells
        try:
            frame = pd.read_csv(
                io.BytesIO(table.text.encode()),
                sep=table.delimiter,
                header=None,
                names=range(len(table.columns)),
                index_col=False,
                skiprows=table.skip,
                keep_default_na=False,
                na_values=MISSING,
                converters=dict.fromkeys(text_columns, str.strip),
                skipinitialspace=True,
                low_memory=False,
                float_precision="round_trip",
            )
        except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
            raise UnreadableInput(_complaint(table, str(error))) from None
    if frame.iloc[:, -1].isna().any() or (frame.iloc[:, -1] == "").any():
        _check_widths(table)
    frame = frame.set_axis(list(table.columns), axis=1)
    # delimiters at the ends of lines make a last column without name and content
    trailing = table.columns[-1] == "" and len(table.columns) > 2 and frame.iloc[:, -1].isna().all()
    return frame.iloc[:, :-1] if trailing else frame


def check_names(names: Sequence[str], where: str, what: str) -> None:
    """Refuse names that occur twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        positions = [str(i + 1) for i, name in enumerate(names) if name == twice[0]]
        raise UnreadableInput(
            f"{where}: expected {what} with different names, but '{shortened(twice[0])}' is the "
            "name of numbers "
            f"{', '.join(positions[:5])}{f' ({len(twice)} such names)' if len(twice) > 1 else ''}; "
            "rename or drop one"
        )


def _without_separator_line(text: str) -> tuple[str, str | None]:
    """Blank the line "sep=;" that Excel understands, and return its delimiter."""
    found = re.match(r'\n*"?sep=(.)"?\n', text, re.IGNORECASE)
    return ("\n" * found[0].count("\n") + text[found.end() :], found[1]) if found else (text, None)


def _warn_numbers(path: str | Path, columns: Sequence[str]) -> None:
    """Warn of a header that may be a row of data; 0, 1, 2, … is how pandas names columns without names."""
    if all(map(NUMBER.fullmatch, columns)) and list(columns) != [str(j) for j in range(len(columns))]:
        warnings.warn(
            f"{path}: the first line, '{shortened(', '.join(columns))}', holds only numbers and is taken for the "
            "header; if it is data, add a line of names above it",
            DataWarning,
            stacklevel=6,
        )


def _below_comments(text: str) -> str:
    """Blank the comment lines above the header; a lone '#' line above numbers is the header itself."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip() and not is_comment(line)), len(lines))
    comments = [i for i in range(first) if lines[i].strip()]
    if len(comments) == 1 and first < len(lines) and _heads(lines[comments[0]], lines[first]):
        lines[comments[0]] = lines[comments[0]].lstrip("# ")
        return "\n".join(lines)
    return "\n" * first + "\n".join(lines[first:])


def _heads(comment: str, line: str) -> bool:
    """Tell '#id,a,b' above 's1,1,2' from '# made by hand, 2020' above 'a,b'."""
    delimiter = "\t" if "\t" in line else "," if "," in line else ";"
    cells = line.split(delimiter)
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell.strip())]
    return len(cells) > 1 and comment.count(delimiter) == len(cells) - 1 and bool(numbers)


def _check_widths(table: TextTable) -> None:
    """Name the first line with fewer or more cells than the header."""
    width = len(table.columns)
    lines = records(table.path, table.text, table.delimiter)
    next(lines)
    for record in lines:
        if len(record.cells) != width:
            raise UnreadableInput(
                Message(
                    f"{table.path}, line {record.line}: expected {width} columns as in the header, got "
                    f"{len(record.cells)}; correct the line, or give ",
                    Argument("delimiter"),
                )
            )


def _complaint(table: TextTable, complaint: str) -> str:
    """Turn pandas' complaint into one that names the line."""
    if "EOF inside string" in complaint:
        return open_quote(table.path, table.text, table.delimiter)
    _check_widths(table)
    return f"{table.path}: not a readable table ({shortened(complaint, 120)})"
