"""Read text files, gzipped or not, with any line end and delimiter, and say what is wrong with them."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, NoReturn

from .errors import UnreadableInput

_GZIP = b"\x1f\x8b"
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive (or an Excel or .npz file)",
    b"PAR1": "a Parquet file",
    b"\x89HDF": "an HDF5 file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\x93NUMPY": "a NumPy array without names (save X and features as .npz)",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    _GZIP: "a gzip file inside a gzip file",
    b"<!doctype html": "a web page, perhaps of a failed download",
    b"<html": "a web page, perhaps of a failed download",
    b"version https://git-lfs": "the Git LFS pointer to a file (run git lfs pull)",
    b'{"': "JSON",
    b"{\n": "JSON",
    b"[{": "JSON",
    b"[[": "JSON",
}
_EMPTY = "expected a file with content, got an empty one; download or export it again"
_BLANK_LINE = re.compile(r"^[ \t]+$", re.MULTILINE)
_DELIMITERS = "\t,; |"
csv.field_size_limit(2**31 - 1)  # annotation columns can exceed the default of 128 kB


LARGEST_RATIO = 100  # of unpacked to packed bytes; numbers as text have 2 to 10, zeros and ones 20
SMALL_ENOUGH = 1 << 28  # bytes; files up to this size are unpacked whatever the ratio
_trusted: ContextVar[bool] = ContextVar("trusted", default=False)


class Record(NamedTuple):
    """One record of a delimited file and the line on which it ends, counted from 1."""

    line: int
    cells: list[str]


def read_bytes(path: str | Path) -> bytes:
    """Return a file's content, decompressed if it is gzip; an empty or truncated file is an error."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UnreadableInput(f"{path}: expected a file, found none; check the path") from None
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot be opened ({error.strerror}); check the path and permissions") from None
    if content.startswith(_GZIP):
        try:
            content = _unpacked(path, content)
        except (EOFError, OSError, zlib.error) as error:
            raise UnreadableInput(
                f"{path}: expected a complete gzip file, but it is cut short or damaged ({error}); "
                "download or copy it again"
            ) from None
    if not content or content.isspace():
        raise UnreadableInput(f"{path}: {_EMPTY}")
    return content


def _unpacked(path: Path, packed: bytes) -> bytes:
    """Decompress in pieces, so that a small file cannot exhaust memory and signals are handled in between."""
    unpacked = io.BytesIO()
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        while part := file.read(1 << 24):
            unpacked.write(part)
            check_unpacked(path, len(packed), unpacked.tell())
    return unpacked.getvalue()


def check_unpacked(path: str | Path, packed: int, unpacked: int) -> None:
    """Reject a file that unpacks to far more than tables do, unless files are trusted."""
    if unpacked > max(LARGEST_RATIO * packed, SMALL_ENOUGH) and not _trusted.get():
        raise UnreadableInput(
            f"{path}: unpacks to more than {LARGEST_RATIO} times its {packed:,} bytes, which tables "
            "do not; if you trust it, give trust=True to read_table, or unpack it yourself"
        )


@contextmanager
def trusting(yes: bool) -> Iterator[None]:
    """If `yes`, unpack files whatever their ratio inside this context."""
    before = _trusted.set(yes or _trusted.get())
    try:
        yield
    finally:
        _trusted.reset(before)


class Loaded(NamedTuple):
    """A path with the text already read from it, since pipes can be read only once."""

    path: str | Path
    text: str

    def __str__(self) -> str:
        return str(self.path)


def read_text(path: str | Path | Loaded) -> str:
    """Return a file's UTF-8 text, without a byte-order mark, line ends as newlines, blank lines empty."""
    if isinstance(path, Loaded):
        return path.text
    content = read_bytes(path)
    _check_format(path, content)
    try:
        text = content.decode("utf-8-sig").rstrip("\x1a")  # the end-of-file mark of old programs
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableInput(
            f"{path}, line {line}: expected UTF-8 text, got the byte 0x{content[error.start]:02x}; save it as UTF-8"
        ) from None
    if not text or text.isspace():
        raise UnreadableInput(f"{path}: {_EMPTY}")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    maybe_blank = text[0] in " \t" or "\n " in text or "\n\t" in text  # far faster than the regular expression
    return _BLANK_LINE.sub("", text) if maybe_blank else text


def _check_format(path: str | Path, content: bytes) -> None:
    """Reject content that is another format than text."""
    for magic, name in _OTHER_FORMATS.items():
        if content[: len(magic)].lower() == magic.lower():
            raise UnreadableInput(
                f"{path}: expected a text file of rows and columns or GraphML, got {name}; unpack or convert it, or "
                "check that it is the right file"
            )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or content[:200].count(b"\0") * 3 > len(content[:200]):
        raise UnreadableInput(f"{path}: expected UTF-8 text, got what looks like UTF-16; save it as UTF-8")
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise UnreadableInput(f"{path}, line {line}: expected text, got binary data; is this the right file?")


def find_delimiter(path: str | Path, text: str) -> str:
    r"""Return the delimiter of the first record: tab, comma, semicolon, space or bar, in this order.

    >>> find_delimiter("genes.tsv", "a, b\tc")
    '\t'
    """
    for delimiter in _DELIMITERS:
        cells = next(records(path, text, delimiter), Record(1, [])).cells
        if len(cells) > 1 and cells[1:] != [""]:
            return delimiter
    raise UnreadableInput(
        f"{path}: expected columns separated by tabs, commas, semicolons, spaces or bars, but the "
        f"first line has only one: '{shortened(first_line(text))}'; give delimiter, or add a column "
        "of sample ids if it is the only one"
    )


def check_delimiter(delimiter: str | None) -> None:
    """Reject a delimiter that is not a single character."""
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise ValueError(f"delimiter must be one character, such as ',' or '\\t', got {delimiter!r}")


def records(path: str | Path, text: str, delimiter: str, quoted: bool = True) -> Iterator[Record]:
    """Yield the records of delimited text, without blank lines; with `quoted=False` quotes are ordinary characters."""
    reader = csv.reader(
        lines_of(text),
        delimiter=delimiter,
        skipinitialspace=True,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )
    try:
        for cells in reader:
            if cells:
                yield Record(reader.line_num, cells)
    except csv.Error as error:
        raise UnreadableInput(f"{path}, line {reader.line_num}: not a readable record ({error})") from None


def lines_of(text: str) -> Iterator[str]:
    """Yield lines with their ends; io.StringIO would first copy the text at four bytes per character."""
    start = 0
    while stop := text.find("\n", start) + 1:
        yield text[start:stop]
        start = stop
    if start < len(text):
        yield text[start:]


def first_line(text: str) -> str:
    """Return the first line that is not blank, or ""."""
    return next((line for line in lines_of(text) if line.strip()), "").rstrip("\n")


def refuse(path: str | Path, text: str, delimiter: str, width: int, error: Exception, quoted: bool = True) -> NoReturn:
    """Raise an error that names the line that pandas could not read."""
    if "EOF inside string" in str(error):
        raise UnreadableInput(open_quote(path, text, delimiter)) from None
    check_widths(path, text, delimiter, width, quoted)
    raise UnreadableInput(f"{path}: not a readable table ({shortened(str(error), 120)})") from None


def check_widths(
    path: str | Path, text: str, delimiter: str, width: int, quoted: bool = True, *, short: bool = False
) -> None:
    """Reject the first record below the top one that has more cells than `width`, or with `short` also fewer."""
    rows = records(path, text, delimiter, quoted)
    model = "the first line" if len(next(rows).cells) == width else "the first row below it"
    for record in rows:
        if len(record.cells) > width or (short and len(record.cells) < width):
            raise UnreadableInput(
                f"{path}, line {record.line}: expected {width} columns as in {model}, got {len(record.cells)}; "
                "correct the line, or give delimiter"
            )


def open_quote(path: str | Path, text: str, delimiter: str) -> str:
    """Return the message for text with an unclosed quote, with the line that opens it."""
    line, before = 1, 0
    for record in records(path, text, delimiter):
        line, before = before + 1, record.line
    return f"{path}, line {line}: a quote is opened and never closed; remove or close it"


def without_comments(text: str, is_header: Callable[[str], bool] = lambda line: False) -> str:
    """Blank the comment lines that are not the header, so that line numbers stay right."""
    if "#" not in text:
        return text
    return "\n".join("" if is_comment(line) and not is_header(line) else line for line in text.split("\n"))


def is_comment(line: str) -> bool:
    """Whether a line begins with '#'."""
    return line.lstrip(" ").startswith("#")


def shortened(cell: str, width: int = 40) -> str:
    """Return a cell for error messages: on one line, and not too long."""
    plain = " ".join(cell.split())
    return plain if len(plain) <= width else plain[: width - 1] + "…"
