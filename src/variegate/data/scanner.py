"""Compiled reader of plain cells: numbers and missing values go into a table, other columns are copied as text.

Numbers are rounded correctly, like Python's float. With at most 15 digits and a power of ten up to 10²², one division
or multiplication of exact values suffices. With up to 19 digits w and a power 10^q, w is multiplied by the first 128
bits of 5^q; the product is too small by less than two units of its 128th bit, and if these two decide the rounding,
the cell is left to the caller (Lemire, "Number parsing at a gigabyte per second", 2021).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..compiled import numba
from ..types import FloatArray, IntArray

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

WHOLE, DECIMAL, ODD = range(3)  # kinds of cells; a column has the largest kind of its cells
REFUSED = -1  # returned for text that is not plain
_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE, _PLUS, _MINUS, _POINT, _ZERO = (ord(c) for c in '\t\n\r "+-.0')
_EXPONENT, _SMALL_EXPONENT = ord("E"), ord("e")
_LARGEST_POWER = 280  # |q|; w·10^q is then a normal number
_LONGEST_WORD = 4  # bytes of a word for a missing value
_TENS = np.array([float(10**k) for k in range(23)])  # exact


def powers_of_five() -> Words:
    """Return the first 128 bits of 5^q for q = −280 … 280, rounded down, as (561, 2): upper and lower 64 bits.

    >>> [hex(half) for half in powers_of_five()[281].tolist()]
    ['0xa000000000000000', '0x0']
    """
    found = []
    for q in range(-_LARGEST_POWER, _LARGEST_POWER + 1):
        power = 5 ** abs(q)
        bits = power.bit_length()
        top = (power << 1024) >> (896 + bits) if q >= 0 else (1 << (127 + bits)) // power
        found.append((top >> 64, top & (2**64 - 1)))
    return np.array(found, dtype=np.uint64)


def word_keys(words: list[str]) -> Words:
    """Return short words as numbers, which `scan` compares with cells."""
    return np.array([int.from_bytes(word.encode()) for word in words], dtype=np.uint64)


@numba.njit(cache=True, nogil=True)
def count_lines(text: Bytes) -> int:
    """Return the number of line ends."""
    n = 0
    for i in range(text.size):
        n += text[i] == _NEWLINE
    return n


@numba.njit(cache=True, nogil=True, error_model="numpy")
def scan(
    text: Bytes,
    delimiter: int,
    targets: IntArray,
    X: FloatArray,
    row: int,
    copied: Bytes,
    kinds: Bytes,
    missing: Words,
    fives: Words,
) -> tuple[int, int]:
    """Read complete lines of text, the last byte a line end; return the rows read (or REFUSED) and bytes copied.

    Cells of column j go to X[row, targets[j]], missing ones as NaN; kinds[j] becomes the largest kind seen. If
    targets[j] is negative they are copied verbatim, a line per row, each starting with a 0 so that no line is blank.
    Rows of a different width, and quotes other than around a whole cell on one line, are refused.
    """
    width = targets.size
    i = n = rows = 0
    while i < text.size:
        if text[i] == _SPACE or text[i] == _TAB:  # perhaps a blank line
            return REFUSED, n
        copied[n] = _ZERO
        n += 1
        for j in range(width):
            while text[i] == _SPACE:
                i += 1
            start = i
            if targets[j] >= 0:
                # short decimals inline: three times as fast as a call
                negative = text[i] == _MINUS
                if negative:
                    i += 1
                w, digits, point = np.uint64(0), 0, 0
                while True:
                    c = text[i] - np.uint8(_ZERO)  # wraps around below "0"
                    if c <= 9:
                        w = w * np.uint64(10) + np.uint64(c)
                        digits += 1
                    elif text[i] == _POINT and point == 0:
                        point = digits + 1
                    else:
                        break
                    i += 1
                simple = text[i] == delimiter or text[i] == _NEWLINE
                if simple and 0 < digits <= 15:
                    kind = WHOLE if point == 0 else DECIMAL
                    value = np.float64(w) if point == 0 else np.float64(w) / _TENS[digits + 1 - point]
                    if negative:
                        value = -value
                elif simple and point > 0 and 0 < digits <= 19:
                    value, sure = _rounded(w, point - digits - 1, fives)
                    kind = DECIMAL if sure else ODD
                    if negative:
                        value = -value
                else:
                    i, value, kind = _number(text, start, fives)
                if kind == ODD or not _ends(text, i, delimiter):
                    i = _cell_end(text, start, delimiter)
                    if i < 0:
                        return REFUSED, n
                    value, kind = np.nan, DECIMAL if _is_missing(text, start, i, missing) else ODD
                X[row + rows, targets[j]] = value
                if kind > kinds[j]:
                    kinds[j] = kind
            else:
                i = _cell_end(text, start, delimiter)
                if i < 0:
                    return REFUSED, n
                copied[n] = delimiter
                copied[n + 1 : n + 1 + i - start] = text[start:i]
                n += 1 + i - start
            if (text[i] == delimiter) == (j == width - 1):
                return REFUSED, n
            i += 2 if text[i] == _RETURN else 1
        copied[n] = _NEWLINE
        n += 1
        rows += 1
    return rows, n


@numba.njit(cache=True, nogil=True)
def _ends(text: Bytes, i: int, delimiter: int) -> bool:
    if text[i] == _RETURN:
        return bool(text[i + 1] == _NEWLINE)
    return bool(text[i] == delimiter or text[i] == _NEWLINE)


@numba.njit(cache=True, nogil=True)
def _cell_end(text: Bytes, i: int, delimiter: int) -> int:
    """Return where a cell ends, or a negative number if it is not plain."""
    if text[i] == _QUOTE:
        i += 1
        while True:
            if text[i] == _NEWLINE or text[i] == _RETURN:
                return REFUSED
            if text[i] == _QUOTE:
                if text[i + 1] != _QUOTE:
                    return i + 1 if _ends(text, i + 1, delimiter) else REFUSED
                i += 1
            i += 1
    while not _ends(text, i, delimiter):
        if text[i] == _QUOTE or text[i] == _RETURN:
            return REFUSED
        i += 1
    return i


@numba.njit(cache=True, nogil=True)
def _is_missing(text: Bytes, start: int, stop: int, missing: Words) -> bool:
    if text[start] == _QUOTE:
        start += 1
        stop -= 1
    if stop - start > _LONGEST_WORD:
        return False
    key = np.uint64(0)
    for i in range(start, stop):
        key = (key << np.uint64(8)) | np.uint64(text[i])
    return bool((missing == key).any())


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _number(text: Bytes, i: int, fives: Words) -> tuple[int, float, int]:
    """Return the end of a number, its value, and its kind; ODD if it is not a number or not certainly rounded."""
    quoted = text[i] == _QUOTE
    i += quoted
    negative = text[i] == _MINUS
    i += negative or text[i] == _PLUS
    i, w, digits, zeros = _digits(text, i, np.uint64(0))
    q, kind = 0, WHOLE
    if text[i] == _POINT:
        kind, start = DECIMAL, i + 1
        i, w, more, few = _digits(text, start, w)
        q = start - i
        digits, zeros = digits + more, zeros + few
    if text[i] == _EXPONENT or text[i] == _SMALL_EXPONENT:
        i, power = _power(text, i + 1)
        kind, q = DECIMAL, q + int(power)
    if digits + zeros == 0 or digits > (15 if kind == WHOLE else 19) or abs(q) > _LARGEST_POWER:
        kind = ODD  # long whole numbers may be ids
    if quoted:
        kind = kind if text[i] == _QUOTE else ODD
        i += text[i] == _QUOTE
    value, sure = _rounded(w, q, fives) if kind != ODD else (np.nan, False)
    return i, -value if negative else value, kind if sure else ODD


@numba.njit(cache=True, nogil=True)
def _digits(text: Bytes, i: int, w: np.uint64) -> tuple[int, np.uint64, int, int]:
    """Return the end of the digits, w with them appended, their number, and the number of leading zeros."""
    start = i
    while w == 0 and text[i] == _ZERO:
        i += 1
    first = i
    while text[i] - np.uint8(_ZERO) <= 9:
        w = w * np.uint64(10) + np.uint64(text[i] - np.uint8(_ZERO))
        i += 1
    return i, w, i - first, first - start


@numba.njit(cache=True, nogil=True)
def _power(text: Bytes, i: int) -> tuple[int, np.int64]:
    """Return the end of an exponent, and its value, which is out of range if there is none."""
    negative = text[i] == _MINUS
    i += negative or text[i] == _PLUS
    power, start = np.int64(0), i
    while text[i] - np.uint8(_ZERO) <= 9 and i - start < 5:
        power = 10 * power + np.int64(text[i] - np.uint8(_ZERO))
        i += 1
    if i == start:
        power = np.int64(10 * _LARGEST_POWER)
    return i, -power if negative else power


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _rounded(w: np.uint64, q: int, fives: Words) -> tuple[float, bool]:
    """Return w·10^q rounded to the nearest double, and whether the rounding is certain."""
    if w <= 9007199254740992 and -22 <= q <= 22:  # 2^53
        return (np.float64(w) / _TENS[-q] if q < 0 else np.float64(w) * _TENS[q]), True
    if w == 0:
        return 0.0, True
    shift = 0
    while w >> np.uint64(63) == 0:
        w <<= np.uint64(1)
        shift += 1
    high, low = _product(w, fives[q + _LARGEST_POWER, 0])
    more, _ = _product(w, fives[q + _LARGEST_POWER, 1])
    low += more
    high += np.uint64(low < more)
    # the first 53 bits of (high, low), and the bits below them
    below = 11 if high >> np.uint64(63) else 10
    mantissa, rest = high >> np.uint64(below), high & ((np.uint64(1) << np.uint64(below)) - np.uint64(1))
    half = np.uint64(1) << np.uint64(below - 1)
    sure = not (rest == half and low == 0) and not (rest == half - np.uint64(1) and low >= np.uint64(2**64 - 2))
    mantissa += np.uint64(rest >= half)
    # w·10^q = (high, low)·2^(1 − shift + ⌊q log2 10⌋), and 1741647 / 2^19 is near enough to log2 10
    exponent = below - shift + ((q * 1741647) >> 19) + 1
    return math.ldexp(np.float64(mantissa), exponent), sure


@numba.njit(cache=True, nogil=True)
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the upper and lower 64 bits of a·b."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    low, middle = a0 * b0, a1 * b0
    carry = (low >> half) + (middle & mask) + a0 * b1
    return a1 * b1 + (middle >> half) + (carry >> half), a * b
