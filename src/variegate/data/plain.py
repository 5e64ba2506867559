"""Large tables of plain cells: compiled code reads the numbers, pandas the few other columns.

The result is what pandas would return for the whole text, or None; then the caller falls back to pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..threads import side_by_side

_PART = 1 << 23  # bytes that one thread reads at a time, about 20 ms
_MOST_WORDS = 64  # columns for pandas; with more, pandas alone is as fast
_DELIMITERS = b",;\t|"

ParseWords = Callable[[bytes, Sequence[int]], pd.DataFrame]


class Plain(NamedTuple):
    """The lines of a table below its header, and what is known about its columns.

    text : the file from the first byte below the header
    words : columns that pandas reads
    whole_types : whether columns of whole numbers become integers, as in pandas
    parse_words : parses text that holds a column of zeros and then the given columns (positions)
    """

    text: memoryview
    delimiter: str
    columns: tuple[str, ...]
    words: frozenset[int]
    missing: list[str]
    whole_types: bool
    parse_words: ParseWords


class _Scanned(NamedTuple):
    """Numbers (N, m), the kinds (M,) of all columns, and the other columns as text."""

    X: npt.NDArray[np.float64]
    kinds: npt.NDArray[np.uint8]
    copied: bytes


def read_plain(table: Plain) -> pd.DataFrame | None:
    """Return the table, or None if it has cells, quotes or lines that are not plain, or too many columns of words."""
    if table.delimiter.encode() not in _DELIMITERS:
        return None
    from .scanner import ODD

    words = set(table.words)
    for _ in range(2):  # the second time, pandas reads the columns with cells that are not numbers
        found = _scanned(table, words) if len(words) <= _MOST_WORDS and len(words) < len(table.columns) else None
        if found is None:
            return None
        odd = set(np.flatnonzero(found.kinds == ODD).tolist())
        if not odd:
            return _frame(table, sorted(words), found)
        words |= odd
        found = None  # free the first table before the second is made
    return None


def _scanned(table: Plain, words: set[int]) -> _Scanned | None:
    """Read all lines, in parts, in parallel."""
    from .scanner import REFUSED, count_lines, powers_of_five, scan, word_keys

    parts = _parts(table.text)
    lines = np.zeros(len(parts) + 1, dtype=np.int64)
    side_by_side(lambda k: lines.__setitem__(k + 1, count_lines(parts[k])), range(len(parts)))
    first = np.cumsum(lines)
    targets = np.cumsum([j not in words for j in range(len(table.columns))]) - 1
    targets[list(words)] = -1
    X = np.empty((first[-1], len(table.columns) - len(words)))
    kinds = np.zeros((len(parts), len(targets)), dtype=np.uint8)
    copied: list[bytes | None] = [None] * len(parts)
    missing, fives = word_keys(table.missing), powers_of_five()

    def read(k: int) -> None:
        text = parts[k]
        room = np.empty(text.size + 2 * lines[k + 1], dtype=np.uint8)
        rows, n = scan(text, ord(table.delimiter), targets, X, first[k], room, kinds[k], missing, fives)
        copied[k] = None if rows == REFUSED else room[:n].tobytes()

    side_by_side(read, range(len(parts)))
    whole = [part for part in copied if part is not None]
    return _Scanned(X, kinds.max(axis=0), b"".join(whole)) if len(whole) == len(parts) else None


def _parts(text: memoryview) -> list[npt.NDArray[np.uint8]]:
    """Split text at line ends; add a missing one to the last line, and drop blank lines below it."""
    everything = np.frombuffer(text, dtype=np.uint8)
    stop = everything.size
    while stop and everything[stop - 1] == 26:  # the end-of-file mark of old programs
        stop -= 1
    while stop and everything[stop - 1] in (10, 13):
        stop -= 1
    last = _line_start(everything, stop)
    cuts = [_line_start(everything, at) for at in range(_PART, last, _PART)]
    edges = [0, *sorted({cut for cut in cuts if cut}), last]
    parts = [everything[a:b] for a, b in pairwise(edges) if b > a]
    return [*parts, np.append(everything[last:stop], np.uint8(10))]


def _line_start(text: npt.NDArray[np.uint8], before: int) -> int:
    """Return the start of the line that holds the byte before a position."""
    width = 1 << 16
    while True:
        start = max(0, before - width)
        ends = np.flatnonzero(text[start:before] == 10)
        if ends.size or not start:
            return start + int(ends[-1]) + 1 if ends.size else 0
        width *= 8


def _frame(table: Plain, words: Sequence[int], found: _Scanned) -> pd.DataFrame:
    """Combine the columns, with the numbers as one block."""
    numbers = [j for j in range(len(table.columns)) if j not in set(words)]
    frame = pd.DataFrame(found.X, columns=numbers, copy=False)
    if table.whole_types and not found.kinds[numbers].all():
        frame = frame.astype({j: np.int64 for j in numbers if not found.kinds[j]})
    if words:
        text = table.parse_words(found.copied, words)
        for j in words:
            frame.insert(j, j, text[j])
    return frame
