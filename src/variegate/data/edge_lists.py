"""Plain edge lists: two columns of names, in CSV or TSV, with or without a header."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..messages import brief
from .columns import check_filled, pick_columns
from .csv_table import NUMBER
from .errors import DataWarning, UnreadableInput
from .network import Network, network_from_edges, one_spelling
from .raw import MISSING
from .text import check_delimiter, find_delimiter, first_line, read_text, records, shortened, without_comments

# "source", "target", "gene_a", "Node 1", "protein2", "entrez_id_b", "preferredName_A", "from", "to"
_HEADER_CELL = re.compile(
    r"(source|target|from|to|start|end|head|tail|src|dst|tf|regulator|ligand|receptor|bait|prey|partner"
    r"|(preferred|official|hgnc|string|uni|ref)?[ _.]?"
    r"(node|gene|protein|prot|interactor|participant|partner|symbol|entrez|ensembl|id|name|vertex|item|feature)s?"
    r"([ _.]?(id|name|symbol))?[ _.]?([12abxyij]|source|target|from|to)?)",
    re.IGNORECASE,
)
_ROWS_FOR_HEADER = 1000


def read_edges(
    path: str | Path,
    *,
    columns: Sequence[str] | Sequence[int] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    ignore_case: bool = False,
) -> Network:
    r"""Read an edge list: one edge per line, two names; further columns, weights included, are ignored.

    Parameters
    ----------
    path : CSV, TSV or space-separated text, possibly gzipped; lines that begin with '#' are comments
    columns : the two columns that hold the ends (names in the header, or positions from 0); None: the first two
    delimiter : None: guessed from the first line
    header : whether the first line is a header; None: yes if it reads like one ("source", "gene_a", …), or if all
        names (or another column, such as weights) are numbers below it but not in it. If neither of its names recurs
        although others do, the line is read as an edge, with a warning
    ignore_case : True merges nodes whose names differ only in case; otherwise such nodes are kept apart (in some
        organisms they are different genes) and a warning counts them

    Duplicate edges, in either direction, count once; self-loops are dropped.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     _ = path.write_text('source,target\nTP53,MDM2\nTP53,EP300\n')
    ...     read_edges(path).names
    ('EP300', 'MDM2', 'TP53')
    """
    check_delimiter(delimiter)
    if header not in (None, True, False):
        raise ValueError(f"header must be True, False or None, got {header!r}")
    text = without_comments(read_text(path))
    if not first_line(text):
        raise UnreadableInput(f"{path}: expected edges, got only comments and blank lines")
    delimiter = delimiter or find_delimiter(path, text)
    top = [cell.strip() for cell in next(records(path, text, delimiter)).cells]
    if len(top) < 2:
        raise UnreadableInput(
            f"{path}: expected at least two columns, but with the delimiter {delimiter!r} the first "
            f"line has one: '{shortened(first_line(text))}'; give another delimiter"
        )
    positions = _positions(path, top, columns)
    frame = pick_columns(path, text, delimiter, positions)
    check_filled(path, frame, ", or give columns or delimiter")
    if header is None:
        by_name = columns is not None and any(isinstance(column, str) for column in columns)
        header = by_name or _reads_like_header(frame) or _heads_numbers(path, text, delimiter, positions)
        if not header:
            _ask_about_header(path, frame)
    if header:  # it may recur further down, if files were concatenated
        frame = frame[(frame != frame.iloc[0]).any(axis=1)]
    if not len(frame):
        raise UnreadableInput(f"{path}: expected edges, got a header and nothing below it")
    if columns is None and len(top) > 2:
        _ask_about_star(path, frame)
    return _network(path, frame, ignore_case)


def _positions(path: str | Path, top: list[str], columns: Sequence[str] | Sequence[int] | None) -> list[int]:
    several = isinstance(columns, Sequence | np.ndarray) and not isinstance(columns, str)
    wanted: list[Any] = [0, 1] if columns is None else [*columns] if several else []
    right = [isinstance(end, str | int | np.integer) and not isinstance(end, bool) for end in wanted]
    if right != [True, True] or wanted[0] == wanted[1]:
        raise ValueError(
            f"columns must be the two columns that hold the ends (names, or positions from 0), got {columns!r}"
        )
    positions = []
    for column in wanted:
        if isinstance(column, str) and column not in top:
            raise UnreadableInput(f"{path}: expected a column '{column}', found {top[:8]}")
        position = top.index(column) if isinstance(column, str) else column
        if not 0 <= position < len(top):
            raise UnreadableInput(f"{path}: expected a column number from 0 to {len(top) - 1}, got {position}")
        positions.append(position)
    return positions


def _reads_like_header(frame: pd.DataFrame) -> bool:
    top, rest = frame.iloc[0], frame.iloc[1:]
    if all(_HEADER_CELL.fullmatch(cell) for cell in top):
        others = rest[(rest != top).any(axis=1)]
        return not others.isin(top.tolist()).to_numpy().any()  # ID1 and ID2 are also genes
    numeric = [rest[column].str.fullmatch(r"\d+").all() for column in frame.columns]
    return len(rest) > 0 and all(numeric) and not any(cell.isdigit() for cell in top)


def _heads_numbers(path: str | Path, text: str, delimiter: str, ends: Sequence[int]) -> bool:
    """Whether a further column has a word above numbers, such as "weight" above 0.5."""
    top, *rest = (record.cells for record in islice(records(path, text, delimiter), _ROWS_FOR_HEADER))
    for j in [j for j in range(len(top)) if j not in ends]:
        cells = [row[j].strip() for row in rest if j < len(row)]
        present = [cell for cell in cells if cell not in MISSING]
        if present and all(map(NUMBER.fullmatch, present)) and not NUMBER.fullmatch(top[j].strip()):
            return top[j].strip() not in MISSING
    return False


def _ask_about_header(path: str | Path, frame: pd.DataFrame) -> None:
    """Warn that the first line may be a header, if neither of its names recurs although others do."""
    names, top = pd.concat([frame.iloc[1:, 0], frame.iloc[1:, 1]]), frame.iloc[0].tolist()
    if names.isin(top).any() or not names.duplicated().any() or top[0] == top[1]:
        return
    if not {name.casefold() for name in names.unique()} & {name.casefold() for name in top}:
        warnings.warn(
            brief(
                f"{path}: the first line, '{shortened(' '.join(top))}', is read as an edge, but neither "
                "name occurs again; give header=True if it is a header, header=False if not"
            ),
            DataWarning,
            stacklevel=3,
        )


def _ask_about_star(path: str | Path, frame: pd.DataFrame) -> None:
    """Warn if all edges share one end, which may be the kind of interaction, as in "TP53 pp MDM2"."""
    same = [frame.iloc[0, j] for j in (0, 1) if (frame.iloc[:, j] == frame.iloc[0, j]).all()]
    if len(same) == 1 and len(frame) > 1:
        warnings.warn(
            brief(
                f"{path}: every edge leads to '{shortened(same[0])}'; if the names are in other columns, "
                "give for example columns=[0, 2]"
            ),
            DataWarning,
            stacklevel=3,
        )


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
            brief(
                f"{path}: {len(clashes)} names differ from another only in case (e.g. {example[0]} and "
                f"{example[1]}); they are kept as different nodes, ignore_case=True merges them"
            ),
            DataWarning,
            stacklevel=4,
        )
    return network_from_edges(ends[0].to_numpy(object), ends[1].to_numpy(object))
