"""Text files as they come: gzipped or not, any line end, any delimiter; and what is wrong with them."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .errors import UnreadableInput

_GZIP = b"\x1f\x8b"
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive (or an Excel or .npz file)",
    b"PAR1": "a Parquet file",
    b"\x89HDF": "an HDF5 file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"%PDF": "a PDF",
}
_BLANK_LINE = re.compile(r"^[ \t]+$", re.MULTILINE)
_DELIMITERS = "\t,; |"
csv.field_size_limit(2**31 - 1)  # annotation columns can exceed the default of 128 kB


class Record(NamedTuple):
    """One record of a delimited file and the line on which it ends, counted from 1."""

    line: int
    cells: list[str]


def read_bytes(path: str | Path) -> bytes:
    """Return a file's content, unzipped if it is gzip; an empty or truncated file is an error."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UnreadableInput(f"{path}: expected a file, found none; check the path") from None
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot be opened ({error.strerror}); check the path and permissions") from None
    if content.startswith(_GZIP):
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise UnreadableInput(
                f"{path}: expected a complete gzip file, but it is cut short or damaged ({error}); "
                "download or copy it again"
            ) from None
    if not content.strip():
        raise UnreadableInput(f"{path}: expected a file with content, got an empty one")
    return content


def read_text(path: str | Path) -> str:
    """Return a file's UTF-8 text, without a byte-order mark, line ends as newlines, blank lines empty."""
    content = read_bytes(path)
    for magic, name in _OTHER_FORMATS.items():
        if content.startswith(magic):
            raise UnreadableInput(f"{path}: expected a text file, got {name}; unpack it, or check its ending")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableInput(f"{path}: expected UTF-8 text, got UTF-16; save it as UTF-8")
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise UnreadableInput(f"{path}, line {line}: expected text, got binary data; is this the right file?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UnreadableInput(
            f"{path}, line {line}: expected UTF-8 text, got the byte 0x{content[error.start]:02x}; save it as UTF-8"
        ) from None
    return _BLANK_LINE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def find_delimiter(path: str | Path, line: str) -> str:
    r"""Return the delimiter of a header or first line: tab, comma, semicolon, space or bar, in this order.

    >>> find_delimiter("genes.tsv", "a, b\tc")
    '\t'
    """
    for delimiter in _DELIMITERS:
        if len(next(csv.reader([line.strip(" ")], delimiter=delimiter), [])) > 1:
            return delimiter
    raise UnreadableInput(
        f"{path}: expected columns separated by tabs, commas, semicolons, spaces or bars, but the "
        "first line has "
        f"only one: '{shortened(line)}'; give delimiter="
    )


def records(path: str | Path, text: str, delimiter: str) -> Iterator[Record]:
    """Yield the records of delimited text, quoted fields resolved, blank lines skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter == " ")
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise UnreadableInput(f"{path}, line {reader.line_num}: not a readable record ({error})") from None
        if len(cells) > 1 or (cells and cells[0].strip()):
            yield Record(reader.line_num, cells)


def without_comments(text: str) -> str:
    """Blank the lines that begin with '#', so that line numbers stay right."""
    if "#" not in text:
        return text
    return "\n".join("" if line.startswith("#") else line for line in text.split("\n"))


def first_line(text: str) -> str:
    """Return the first line that is not blank, or nothing."""
    return next((line for line in io.StringIO(text) if line.strip()), "").rstrip("\n")


def shortened(cell: str, width: int = 40) -> str:
    """Return a cell as an error message shows it: on one line, and not too long."""
    plain = " ".join(cell.split())
    return plain if len(plain) <= width else plain[: width - 1] + "…"
