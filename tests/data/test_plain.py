"""Large files are read by compiled code, with the same result as by pandas."""

import random
import warnings
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from variegate.data import DataWarning, UnreadableInput, csv_table, plain, read_table
from variegate.data.csv_table import MISSING, open_text_table, parse_text_table
from variegate.data.scanner import ODD, powers_of_five, scan, word_keys

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PLAIN = ["1", "2.5", "-3", "-0", "00", "0.0", ".5", "5.", "+3", "1e5", "1E-3", "0.1", "123456789012345", *MISSING]
LONG = ["0.1234567890123456789", "0.00012345678901234567", "-9007199254740993", "9" * 16, "9" * 20, "9" * 400, "1e400"]
ODDITIES = ["inf", "Infinity", "1e", "1e+", "-", ".", "+-1", "1.2.3", "1_000", "0x10", "1d5", "3%", "2020-01-01"]
SPACED = [" 1", "1 ", "\t1", "1\x0b", " NA", "NA ", "  ", "1\u00a0"]
QUOTED = ['"1"', '"NA"', '" 1"', '"1"2', '"a,b"', '"a""b"', 'a"b', '"1', '""', '"a\nb"', ' "x" ', '"2.5" ']
WORDS = ["a", "B", "True", "False", "é", "#x", "1,5", "\x1a", "a\rb", "γ", "\x85", "\ufeff", "－1"]
CELLS = st.one_of(*map(st.sampled_from, (PLAIN, PLAIN, PLAIN, LONG, ODDITIES, SPACED, QUOTED, WORDS)))
NUMBERS = st.one_of(
    st.floats(allow_infinity=False).map(repr), st.integers(-(10**17), 10**17).map(str), st.sampled_from(PLAIN)
)


@contextmanager
def compiled(always, part=64):
    """Read with compiled code always or never, a few lines at a time."""
    with mock.patch.multiple(plain, _PART=part), mock.patch.object(csv_table, "LARGE", 0 if always else 1 << 60):
        yield


def frames(path, **how):
    """What both ways make of a file: its frame, or the error's text."""
    for always in (True, False):
        with compiled(always), warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                yield parse_text_table(open_text_table(path), **how)
            except UnreadableInput as error:
                yield str(error)


def assert_same(one, two):
    if isinstance(one, str) or isinstance(two, str):
        assert one == two
    else:
        pd.testing.assert_frame_equal(one, two, check_exact=True, check_column_type=False)


@st.composite
def files(draw, cells):
    width = draw(st.integers(2, 5))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=8))
    sep, end = draw(st.sampled_from([",", ";", "\t", "|"])), draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    header = sep.join(["id", "a", "y", "d", "e"][: width - draw(st.sampled_from([0, 0, 0, 0, 1]))])
    above = draw(st.sampled_from(["", "", "", "\n", "# made by hand\n", "\ufeff", "sep=" + sep + "\n"]))
    below = draw(st.sampled_from(["", end, 2 * end, end + "1" + sep + "2" + end, " " + end, "\x1a"]))
    return (above + header + end + end.join(sep.join(row) for row in rows) + below).encode()


@given(content=st.one_of(files(CELLS), files(NUMBERS)), words=st.sampled_from([(), (0,), (0, 1)]))
@example(content=b"id,a\n1,2\n\n3,4\n", words=(0,))
@example(content=b'id,a\n"x\ny",2\nz,4\n', words=(0,))
@example(content=b"id,a\n1,1\x1a", words=())
@example(content=b"id\ta\n1\t1\n\t", words=())
@example(content=b"id,a\n\xef\xbb\xbf,1\n", words=())
@example(content=b'id,a\n1,"1\n1,1\n', words=())
@example(content=b"id,a\n1,1\n1,.\n", words=())
@FUZZ
def test_both_ways_give_the_same_frame(tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert_same(*frames(path, text_columns=words))


@given(st.one_of(files(CELLS), files(NUMBERS)), st.booleans(), st.sampled_from([(), ("d",)]))
@FUZZ
def test_both_ways_give_the_same_table(tmp_path, content, turned, categorical):
    path, found = tmp_path / "t.csv", []
    path.write_bytes(content)
    how = {"samples": "columns"} if turned else {"outcome": "y", "categorical": categorical}
    for always in (True, False):
        with compiled(always), warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                found.append(read_table(path, missing="impute", **how))
            except UnreadableInput as error:
                found.append(str(error))
    one, two = found
    if isinstance(one, str) or isinstance(two, str):
        assert one == two
        return
    np.testing.assert_array_equal(one.X, two.X)
    assert one.X.flags.c_contiguous
    assert (one.features, one.samples, one.groups, one.report) == (two.features, two.samples, two.groups, two.report)
    if not turned:
        assert one.y.dtype == two.y.dtype
        np.testing.assert_array_equal(one.y, two.y)


PLAIN_FILES = {
    "plain": "id,a,b\ns1,1,2.5\ns2,-3,NA\ns3,,1e-5\n",
    "quoted words": '"id","a","b"\n"s1",1,2.5\n"s,2",-3,"NA"\n"s3","1.5",1e-5\n',
    "line ends": "id\ta\tb\r\ns1\t1\t2.5\r\ns2\t-3\tNA\r\n\r\n",
    "a column of words": "id;a;b\ns1;1;u\ns2;2;v",
    "words below numbers": "id;a;b\ns1;1;2\ns2;2;v",
    "spaces": "id, a, b\ns1, 1, 2.5\ns2, -3, 1\n",
    "long numbers": "id,a,b\ns1,0.12345678901234567,1e-250\ns2,1234567.8901234567,12345678901234567\n",
}


@pytest.mark.parametrize("content", PLAIN_FILES.values(), ids=PLAIN_FILES)
def test_plain_files_need_no_second_reader(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_text(content, newline="")
    with compiled(always=True), mock.patch.object(csv_table, "_parse_any", side_effect=AssertionError("slow")):
        parse_text_table(open_text_table(path))
    assert_same(*frames(path))


def test_columns_that_need_not_be_integers_stay_one_block(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,a,b,y\ns1,1,2.5,0\ns2,3,1.5,1\n")
    with compiled(always=True):
        table = read_table(path, "y")
    assert table.y.dtype == np.int64
    assert table.X.base is not None  # a view of what was scanned: nothing was copied on the way


def decimals(n):
    """Decimals that are hard to round: all lengths and powers, and those halfway between two doubles."""
    rng = random.Random(0)
    for _ in range(n):
        yield f"{rng.randrange(10 ** rng.randrange(1, 20))}e{rng.randrange(-290, 290)}"
        yield repr(rng.gauss(0, 1) * 10.0 ** rng.randrange(-30, 30))
        digits, point = str(rng.randrange(10**19)), rng.randrange(20)
        yield f"{digits[:point]}.{digits[point:]}"
        halfway = (2 * (rng.getrandbits(52) | 1 << 52) + 1) << rng.randrange(9)
        yield from (f"{halfway + step}e0" for step in (-1, 0, 1))


def test_numbers_are_rounded_as_python_rounds_them():
    cells = list(decimals(5_000))
    text = np.frombuffer("".join(f"{cell},x\n" for cell in cells).encode(), dtype=np.uint8)
    X, room, kinds = np.empty((len(cells), 1)), np.empty(2 * text.size, np.uint8), np.zeros(2, np.uint8)
    rows, _ = scan(text, ord(","), np.array([0, -1]), X, 0, room, kinds, word_keys(MISSING), powers_of_five())
    expected = np.array([float(cell) for cell in cells])
    left = np.isnan(X[:, 0])
    assert rows == len(cells)
    assert kinds[0] == ODD
    np.testing.assert_array_equal(X[~left, 0], expected[~left])
    # left to Python: halfway ones (one in six), and powers that come near the ends of the range
    assert 1 / 6 <= left.mean() < 1 / 4


def test_powers_of_five_are_rounded_down():
    for q, (high, low) in zip(range(-280, 281), powers_of_five().tolist(), strict=True):
        top = (high << 64) + low
        assert top.bit_length() == 128
        shift = (5 ** abs(q)).bit_length()
        if q < 0:
            assert top * 5**-q <= 1 << (127 + shift) < (top + 1) * 5**-q
        else:
            assert top << shift <= 5**q << 128 < (top + 1) << shift
