"""Tables in CSV and TSV files."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ..messages import Argument, Message
from ..threads import in_background
from .errors import DataWarning, UnreadableInput
from .plain import Plain, read_plain
from .text import (
    Record,
    check_delimiter,
    check_text,
    find_delimiter,
    first_record,
    is_comment,
    line_of,
    normalised,
    open_quote,
    read_bytes,
    records,
    shortened,
)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LARGE = 1 << 23  # bytes; from here on compiled code makes up for its loading time
_FIRST_LOOK = 1 << 20  # bytes
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?"]


@dataclass(frozen=True)
class TextTable:
    """A delimited file: its bytes, column names and first row, and how many lines of `text` pandas must skip.

    Those are the header and the blank lines above it; a line break inside a quoted name does not count.
    `body` is the first byte below the header, or None if its line ends are not newlines.
    """

    path: Path
    content: bytes
    delimiter: str
    columns: tuple[str, ...]
    first: tuple[str, ...]
    skip: int
    body: int | None

    @property
    def text(self) -> str:
        """The whole text, comments above the header blanked; not cached, since it is as large as the file."""
        return _without_separator_line(_below_comments(normalised(self.content)))[0]

    def line_of(self, row: int) -> int:
        """Return the line, from 1, of a row below the header, from 0."""
        return line_of(self.path, self.text, self.delimiter, row + 1)


def open_text_table(path: str | Path, delimiter: str | None = None) -> TextTable:
    """Read a file and its header; comment lines ('#') above the header are skipped.

    If the header is one cell shorter than the two lines below it (as R writes it), the first column is named ""; or
    the last, if its cells are blank because lines end with a delimiter.
    """
    check_delimiter(delimiter)
    content = read_bytes(path)
    check_text(path, content)
    head = _head(path, content, delimiter)
    if len(head.records) < 2:
        if head.text.count('"') % 2:
            raise UnreadableInput(open_quote(path, head.text, head.delimiter))
        raise UnreadableInput(f"{path}: expected a header and at least one row below it, got less; is it complete?")
    header, below, *third = head.records
    columns = [cell.strip() for cell in header.cells]
    alone = len(columns) == 1 and any(other in head.line for other in "\t,;|")  # another delimiter is more likely
    if all(len(row.cells) == len(columns) + 1 for row in (below, *third)) and not alone:
        columns = ["", *columns] if below.cells[-1].strip() else [*columns, ""]
    if len(columns) < 2:
        raise UnreadableInput(
            Message(
                f"{path}: expected several columns, but with the delimiter {head.delimiter!r} there is one: "
                f"'{shortened(head.line)}'; give another ",
                Argument("delimiter"),
            )
        )
    check_names(columns, str(path), "columns")
    _warn_numbers(path, columns)
    skip = header.line - sum(cell.count("\n") for cell in header.cells)
    body = _after_lines(content, header.line)
    return TextTable(Path(path), content, head.delimiter, tuple(columns), tuple(below.cells), skip, body)


class _Head(NamedTuple):
    """The beginning of a file: text, first line, delimiter, and at most three records."""

    text: str
    line: str
    delimiter: str
    records: list[Record]


def _head(path: str | Path, content: bytes, delimiter: str | None) -> _Head:
    """Parse the beginning of a file, enlarged until the first row below the header is certainly complete."""
    size = _FIRST_LOOK
    while True:
        cut = content.rfind(b"\n", 0, size) + 1 if size < len(content) else len(content)
        text, said = _without_separator_line(_below_comments(normalised(content[:cut])))
        line = first_record(text)
        known = delimiter or said
        if cut == len(content) or (cut and line):
            known = known or find_delimiter(path, line)
            found = list(islice(records(path, text, known), 3))
            if cut == len(content) or len(found) == 3:
                return _Head(text, line, known, found)
        size *= 8


def _after_lines(content: bytes, lines: int) -> int | None:
    """Return where the line after so many begins, or None where line ends other than newlines come first."""
    at = 0
    for _ in range(lines):
        at = content.find(b"\n", at) + 1
        if not at:
            return None
    return at if content.count(b"\r", 0, at) == content.count(b"\r\n", 0, at) else None


def parse_text_table(
    table: TextTable, text_columns: Sequence[int] = (0,), *, exact: Collection[int] | None = None
) -> pd.DataFrame:
    """Return the rows below the header: numbers where a column has only numbers, text elsewhere.

    The given columns stay text, word for word: ids and gene symbols may read like "NA" or "1e5". Columns of whole
    numbers are integers; with `exact`, only these have to be, and others may be floats, which is faster.
    """
    frame = _parse_large(table, text_columns, exact) if len(table.content) >= LARGE else None
    frame = _parse_any(table, text_columns) if frame is None else frame
    frame.columns = pd.Index(table.columns)  # set_axis would copy
    # delimiters at the ends of lines make a last column without name and content
    trailing = table.columns[-1] == "" and len(table.columns) > 2 and frame.iloc[:, -1].isna().all()
    return frame.iloc[:, :-1] if trailing else frame


def _parse_large(table: TextTable, text_columns: Sequence[int], exact: Collection[int] | None) -> pd.DataFrame | None:
    if table.body is None or len(table.first) != len(table.columns):
        return None
    first = [cell.strip() for cell in table.first]
    words = {j for j, cell in enumerate(first) if not NUMBER.fullmatch(cell) and cell not in MISSING}

    def parse_words(content: bytes, columns: Sequence[int]) -> pd.DataFrame:
        words = [k for k, j in enumerate(columns, start=1) if j in set(text_columns)]
        frame = _parse(content, table.delimiter, len(columns) + 1, words)  # the first column holds zeros
        return frame.iloc[:, 1:].set_axis(list(columns), axis=1)

    return read_plain(
        Plain(
            memoryview(table.content)[table.body :],
            table.delimiter,
            table.columns,
            frozenset({*words, *text_columns, *(exact or ())}),
            MISSING,
            exact is None,
            parse_words,
        )
    )


def _parse_any(table: TextTable, text_columns: Sequence[int]) -> pd.DataFrame:
    """Return the rows as pandas reads them, or name the line that it cannot read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas warns before it drops cells
        try:
            content = table.text.encode()
            frame = in_background(
                lambda: _parse(content, table.delimiter, len(table.columns), text_columns, table.skip)
            )
        except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
            raise UnreadableInput(_complaint(table, str(error))) from None
    if frame.iloc[:, -1].isna().any() or (frame.iloc[:, -1] == "").any():
        _check_widths(table)  # pandas fills short lines
    return frame


def _parse(content: bytes, delimiter: str, width: int, words: Sequence[int], skip: int = 0) -> pd.DataFrame:
    return pd.read_csv(
        io.BytesIO(content),
        sep=delimiter,
        header=None,
        names=range(width),
        index_col=False,
        skiprows=skip,
        keep_default_na=False,
        na_values=MISSING,
        converters=dict.fromkeys(words, str.strip),
        skipinitialspace=True,
        low_memory=False,
        float_precision="round_trip",
    )


def check_names(names: Sequence[str], where: str, what: str) -> None:
    """Reject names that occur twice."""
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
    """Blank Excel's line "sep=;", and return its delimiter."""
    found = re.match(r'\n*"?sep=(.)"?\n', text, re.IGNORECASE)
    return ("\n" * found[0].count("\n") + text[found.end() :], found[1]) if found else (text, None)


def _warn_numbers(path: str | Path, columns: Sequence[str]) -> None:
    """Warn of a header that may be a row of data; 0, 1, 2, … are pandas' default names."""
    if all(map(NUMBER.fullmatch, columns)) and list(columns) != [str(j) for j in range(len(columns))]:
        warnings.warn(
            f"{path}: the first line, '{shortened(', '.join(columns))}', holds only numbers and is taken for the "
            "header; if it is data, add a line of names above it",
            DataWarning,
            stacklevel=6,
        )


def _below_comments(text: str) -> str:
    """Blank the comment lines above the header; a lone '#' line above numbers is the header itself."""
    lines, at = [], 0
    while at < len(text):
        stop = text.find("\n", at) + 1 or len(text)
        line = text[at:stop]
        if line.strip() and not is_comment(line):
            break
        lines.append(line)
        at = stop
    comments = [i for i, line in enumerate(lines) if line.strip()]
    if not comments:
        return text
    if len(comments) == 1 and at < len(text) and _heads(lines[comments[0]], line.rstrip("\n")):
        lines[comments[0]] = lines[comments[0]].lstrip("# ")
        return "".join(lines) + text[at:]
    return "\n" * len(lines) + text[at:]


def _heads(comment: str, line: str) -> bool:
    """Distinguish '#id,a,b' above 's1,1,2' from '# made by hand, 2020' above 'a,b'."""
    delimiter = "\t" if "\t" in line else "," if "," in line else ";"
    cells = line.split(delimiter)
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell.strip())]
    return len(cells) > 1 and comment.count(delimiter) == len(cells) - 1 and bool(numbers)


def _check_widths(table: TextTable) -> None:
    """Reject the first line whose width differs from the header's, or from the first row's if that has one more."""
    width = len(table.columns)
    lines = records(table.path, table.text, table.delimiter)
    model = "the header" if len(next(lines).cells) == width else "the first row"
    for record in lines:
        if len(record.cells) != width:
            raise UnreadableInput(
                Message(
                    f"{table.path}, line {record.line}: expected {width} columns as in {model}, got "
                    f"{len(record.cells)}; correct the line, or give ",
                    Argument("delimiter"),
                )
            )


def _complaint(table: TextTable, complaint: str) -> str:
    """Turn a pandas error into a message that names the line."""
    if "EOF inside string" in complaint:
        return open_quote(table.path, table.text, table.delimiter)
    _check_widths(table)
    return f"{table.path}: not a readable table ({shortened(complaint, 120)})"
