"""Tables in CSV and TSV files."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

import pandas as pd

from ..threads import in_background
from .errors import DataWarning, UnreadableInput
from .raw import MISSING, RawTable, check_names
from .text import (
    check_delimiter,
    check_widths,
    find_delimiter,
    first_line,
    is_comment,
    lines_of,
    open_quote,
    read_text,
    records,
    refuse,
    shortened,
)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WIDE = 2000  # columns; pandas would read fewer than 500 rows at a time, which takes twice as long


@dataclass(frozen=True)
class TextSource:
    """A delimited file whose header has been read.

    `skip` is how many lines pandas must skip: the header and those above it, where a line break inside a quoted name
    does not count.
    """

    where: str
    content: bytes  # of the text, which is decoded again only to find what is wrong
    delimiter: str
    columns: list[str]
    skip: int

    @property
    def text(self) -> str:
        """The text without comments above the header, line ends as newlines."""
        return self.content.decode()

    def read(self, words: Collection[str] | None = ()) -> RawTable:
        """Return the rows: numbers if a column has only numbers, otherwise text.

        The first column and those in `words` (None: all) stay text: ids and gene symbols may look like "NA" or "1e5".
        """
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas warns before it drops cells
            warnings.simplefilter("error", pd.errors.DtypeWarning)
            try:
                frame = in_background(lambda: self._parse(words))
            except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
                refuse(self.where, self.text, self.delimiter, len(self.columns), error)
        last = frame.iloc[:, -1]
        if last.isna().any() or (last == "").any():
            # pandas fills short lines
            check_widths(self.where, self.text, self.delimiter, len(self.columns), short=True)
        frame.columns = pd.Index(self.columns)  # set_axis would copy
        # delimiters at line ends make a last column without name and content
        trailing = self.columns[-1] == "" and len(self.columns) > 2 and last.isna().all()
        return RawTable(frame.iloc[:, :-1] if trailing else frame, self.where)

    def _parse(self, words: Collection[str] | None) -> pd.DataFrame:
        text = [j for j, name in enumerate(self.columns) if j == 0 or words is None or name in words]

        def parsed(in_pieces: bool) -> pd.DataFrame:
            return pd.read_csv(
                io.BytesIO(self.content),
                sep=self.delimiter,
                header=None,
                names=range(len(self.columns)),
                index_col=False,
                skiprows=self.skip,
                keep_default_na=False,
                na_values=MISSING,
                converters=dict.fromkeys(text, str.strip),
                skipinitialspace=True,
                low_memory=in_pieces,
            )

        try:
            return parsed(in_pieces=len(self.columns) < _WIDE)
        except pd.errors.DtypeWarning:  # numbers in one piece of a column, words in another
            return parsed(in_pieces=False)


def open_text(path: str | Path, delimiter: str | None = None) -> TextSource:
    """Read a file and its header; comment lines ('#') above the header are skipped.

    If the header is one cell shorter than the two lines below it (as R writes it), the first column is named ""; or
    the last, if its cells are blank because lines end with a delimiter.
    """
    check_delimiter(delimiter)
    text, said = _without_separator_line(_below_comments(read_text(path)))
    delimiter = delimiter or said or find_delimiter(path, text)
    top = list(islice(records(path, text, delimiter), 3))
    if len(top) < 2:
        if text.count('"') % 2:
            raise UnreadableInput(open_quote(path, text, delimiter))
        raise UnreadableInput(f"{path}: expected a header and at least one row below it, got less; is it complete?")
    header, *rows = top
    columns = [cell.strip() for cell in header.cells]
    alone = len(columns) == 1 and any(other in first_line(text) for other in "\t,;|")  # the delimiter is another
    if all(len(row.cells) == len(columns) + 1 for row in rows) and not alone:
        columns = ["", *columns] if rows[0].cells[-1].strip() else [*columns, ""]
    if len(columns) < 2:
        raise UnreadableInput(
            f"{path}: expected several columns, but with the delimiter {delimiter!r} there is one: "
            f"'{shortened(first_line(text))}'; give another delimiter, or add a column of sample ids "
            "if it is the only one"
        )
    check_names(columns, str(path), "columns")
    _warn_numbers(path, columns)
    return TextSource(str(path), text.encode(), delimiter, columns, header.line - "".join(header.cells).count("\n"))


def _without_separator_line(text: str) -> tuple[str, str | None]:
    """Blank Excel's line "sep=;", and return its delimiter."""
    found = re.match(r'\n*"?sep=(.)"?\n', text, re.IGNORECASE)
    return ("\n" * found[0].count("\n") + text[found.end() :], found[1]) if found else (text, None)


def _warn_numbers(path: str | Path, columns: list[str]) -> None:
    """Warn of a header that may be a row of data; 0, 1, 2, … are pandas' default names."""
    if all(map(NUMBER.fullmatch, columns)) and columns != [str(j) for j in range(len(columns))]:
        warnings.warn(
            f"{path}: the first line, '{shortened(', '.join(columns))}', holds only numbers and is taken for the "
            "header; if it is data, add a line of names above it",
            DataWarning,
            stacklevel=6,
        )


def _below_comments(text: str) -> str:
    """Blank the comment lines above the header; a lone '#' line above numbers is the header itself."""
    above = list(takewhile(lambda line: not line.strip() or is_comment(line), lines_of(text)))
    comments = [line for line in above if line.strip()]
    below = text[sum(map(len, above)) :] if comments else text
    if len(comments) == 1 and _heads(comments[0], first_line(below)):
        return comments[0].lstrip("# ") + below
    return "\n" * len(above) + below if comments else text


def _heads(comment: str, line: str) -> bool:
    """Distinguish '#id,a,b' above 's1,1,2' from '# made by hand, 2020' above 'a,b'."""
    delimiter = "\t" if "\t" in line else "," if "," in line else ";"
    cells = line.split(delimiter)
    numbers = [cell for cell in cells if NUMBER.fullmatch(cell.strip())]
    return len(cells) > 1 and comment.count(delimiter) == len(cells) - 1 and bool(numbers)
