"""Plain edge lists: two columns of names, in CSV or TSV, with or without a header."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .columns import check_filled, pick_columns, text_width
from .errors import DataWarning, UnreadableInput
from .network import Network, network_from_edges, one_spelling
from .text import find_delimiter, first_line, read_text, records, shortened, without_comments

# "source", "target", "gene_a", "Node 1", "protein2", "entrez_id_b", "from", "to"
_HEADER_CELL = re.compile(
    r"(source|target|from|to|start|end|head|tail"
    r"|(node|gene|protein|interactor|symbol|entrez|id|name|vertex|item|feature)s?"
    r"([ _.]?(id|name|symbol))?[ _.]?([12abxyij]|source|target|from|to)?)",
    re.IGNORECASE,
)


def read_edges(
    path: str | Path,
    *,
    columns: Sequence[str] | Sequence[int] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    ignore_case: bool = False,
) -> Network:
    """Read an edge list: one edge per line, two names; further columns, weights included, are ignored.

    Parameters
    ----------
    path : CSV, TSV or space-separated text, possibly gzipped; lines that begin with '#' are comments
    columns : which two columns hold the ends (names in the header, or positions from 0); None: the first two
    delimiter : None: found in the first line
    header : whether the first line is one; None: yes if it reads like one ("source", "gene_a", …), or if the
        names below it are all numbers and its own are not
    ignore_case : True merges nodes whose names differ in upper and lower case only; otherwise such nodes
        stay apart (in some organisms they are different genes) and a warning counts them

    Duplicates and both directions count once, self-loops not at all.
    """
    text = without_comments(read_text(path))
    line = first_line(text)
    if not line:
        raise UnreadableInput(f"{path}: expected edges, got only comments and blank lines")
    delimiter = delimiter or find_delimiter(path, line)
    if text_width(text, delimiter) < 2:
        raise UnreadableInput(
            f"{path}: expected at least two columns, but with the delimiter {delimiter!r} the "
            "first line has one: "
            f"'{shortened(line)}'; give another delimiter="
        )
    top = [cell.strip() for cell in next(records(path, text, delimiter)).cells]
    positions = _positions(path, top, columns)
    frame = pick_columns(path, text, delimiter, positions)
    check_filled(path, frame, text, delimiter)
    if header or (header is None and (_by_name(columns) or _reads_like_header(frame))):
        frame = frame.iloc[1:]
    if not len(frame):
        raise UnreadableInput(f"{path}: expected edges, got a header and nothing below it")
    return _network(path, frame, ignore_case)


def _by_name(columns: Sequence[str] | Sequence[int] | None) -> bool:
    return columns is not None and any(isinstance(column, str) for column in columns)


def _positions(path: str | Path, top: list[str], columns: Sequence[str] | Sequence[int] | None) -> list[int]:
    wanted: list[str | int] = [0, 1] if columns is None else [*columns]
    if len(wanted) != 2:
        raise ValueError(f"expected columns= with the two that hold the ends of an edge, got {wanted}")
    positions = []
    for column in wanted:
        if isinstance(column, str) and column not in top:
            raise UnreadableInput(f"{path}: expected a column '{column}', but the columns are {top[:8]}")
        position = top.index(column) if isinstance(column, str) else column
        if not 0 <= position < len(top):
            raise UnreadableInput(f"{path}: expected a column number {position}, but there are {len(top)}, from 0")
        positions.append(position)
    return positions


def _reads_like_header(frame: pd.DataFrame) -> bool:
    top, rest = frame.iloc[0], frame.iloc[1:]
    if all(_HEADER_CELL.fullmatch(cell) for cell in top):
        return True
    numeric = [rest[column].str.fullmatch(r"\d+").all() for column in frame.columns]
    return len(rest) > 0 and all(numeric) and not any(cell.isdigit() for cell in top)


def _network(path: str | Path, frame: pd.DataFrame, ignore_case: bool) -> Network:
    ends = [frame.iloc[:, 0], frame.iloc[:, 1]]
    names = pd.unique(pd.concat(ends))
    folded = pd.Series(names).str.casefold()
    clashes = folded[folded.duplicated(keep=False)]
    if len(clashes) and ignore_case:
        merged = one_spelling(pd.concat(ends))
        ends = [merged.iloc[: len(frame)], merged.iloc[len(frame) :]]
    elif len(clashes):
        example = [name for name in names if name.casefold() == clashes.iloc[0]][:2]
        warnings.warn(
            f"{path}: {len(clashes)} names differ from another in upper and lower case only (e.g. "
            f"{example[0]} "
            f"and {example[1]}); they are kept as different nodes, ignore_case=True merges them",
            DataWarning,
            stacklevel=4,
        )
    return network_from_edges(ends[0].to_numpy(object), ends[1].to_numpy(object))
