"""What the cells of a table mean: numbers, categories, missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from variegate import similarity
from variegate.data import DataWarning, UnreadableInput, read_table

MISSING = pd.DataFrame({"a": [1.0, np.nan, 3.0, 100.0], "b": [1.0, 2.0, 3.0, 4.0], "c": ["u", "v", None, "v"]})
FULL = pd.DataFrame({"a": [1.0, 2.0]})


def test_missing_values(tmp_path):
    MISSING.to_csv(tmp_path / "m.csv", index=False)
    for source in (MISSING, tmp_path / "m.csv", pl.from_pandas(MISSING)):
        with pytest.raises(UnreadableInput, match=r"got some in a \(1\), c \(1\); choose missing="):
            read_table(source)
        rows = read_table(source, missing="drop_samples")
        assert rows.samples == ("1", "4")
        assert rows.report.dropped_samples == ("2", "3")
        columns = read_table(source, missing="drop_features")
        assert (columns.features, columns.report.dropped_features) == (("b",), ("a", "c"))
        filled = read_table(source, missing="impute")
        assert filled.X[:, 0].tolist() == [1.0, 3.0, 3.0, 100.0]
        assert filled.X[2, 2:].tolist() == [0.0, 1.0]  # the commonest category is v
        assert filled.report.imputed == {"a": 1, "c": 1}


def test_only_dropping_samples_helps_against_missing_outcomes():
    said = r"got some in y .outcome. \(1\); choose missing='drop_samples' to leave these samples out$"
    with pytest.raises(UnreadableInput, match=said):
        read_table(FULL.assign(y=[1.0, np.nan]), "y")


def test_missing_values_of_nullable_types():
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": pd.array(["u", None, "v"], dtype="string")})
    with pytest.raises(UnreadableInput, match=r"got some in a \(1\), b \(1\)"):
        read_table(frame)
    assert read_table(frame, missing="drop_samples").X.tolist() == [[1, 1, 0], [3, 0, 1]]


def test_given_values_stand_for_missing_ones(tmp_path):
    MISSING.assign(d=np.nan, e=None).to_csv(tmp_path / "m.csv", index=False)
    given = {"a": -7.0, "c": "w", "d": 2, "e": "first", "elsewhere": 1.0}
    table = read_table(tmp_path / "m.csv", missing=given, categorical="e")
    assert table.features == ("a", "b", "c=u", "c=v", "c=w", "d", "e=first")
    expected = [[1, 1, 1, 0, 0, 2, 1], [-7, 2, 0, 1, 0, 2, 1], [3, 3, 0, 0, 1, 2, 1], [100, 4, 0, 1, 0, 2, 1]]
    np.testing.assert_array_equal(table.X, expected)
    assert table.report.imputed == {"a": 1, "c": 1, "d": 4, "e": 4}
    partly = read_table(MISSING, missing={"c": "u"})
    assert (partly.X[1, 0], partly.X[2, 2:].tolist()) == (3.0, [1.0, 0.0])  # the median of a is its own
    assert read_table(FULL, missing=given).X.tolist() == [[1.0], [2.0]]


def test_given_values_must_fit():
    with pytest.raises(UnreadableInput, match=r"column 'a': expected words, because .* filled with 'x', got numbers"):
        read_table(MISSING, missing={"a": "x"})
    with pytest.raises(UnreadableInput, match=r"column 'c': expected numbers, because .* filled with 1\.5, got words"):
        read_table(MISSING, missing={"c": 1.5})
    for wrong in (np.nan, None, [1.0], np.inf):
        with pytest.raises(ValueError, match=r"missing\['a'\] must be text or a finite number, got"):
            read_table(FULL, missing={"a": wrong})


@pytest.mark.parametrize("cell", [[1, 2], np.ones(2), {"a": 1}, (1,), 1 + 2j, np.complex64(1j)])
def test_cells_that_are_no_single_number_are_told(cell):
    column = pd.Series([None, cell, None], dtype=object)
    with pytest.raises(UnreadableInput, match=f"sample '2', column 'v': .* {type(cell).__name__}"):
        read_table(pd.DataFrame({"a": [1, 2, 3], "v": column}))
    with pytest.raises(UnreadableInput, match="column 'v': expected a number or a word"):
        read_table(pd.DataFrame({"a": [1, 2, 3], "v": column}), "v")
    with pytest.raises(UnreadableInput, match=r"sample '1', column 'c'.* complex"):
        read_table(pd.DataFrame({"a": [1, 2], "c": [1j, 2j]}))
    with pytest.raises(UnreadableInput, match=r"sample '1', column 'l'.* ndarray"):
        read_table(pl.DataFrame({"a": [1, 2], "l": [[1], [2]]}))


def test_nothing_left():
    with pytest.raises(UnreadableInput, match="nothing is left"):
        read_table(pd.DataFrame({"a": [np.nan, 1.0], "b": [1.0, np.nan]}), missing="drop_samples")
    with pytest.raises(UnreadableInput, match=r"the pandas table, column 'a': .* got none; drop it"):
        read_table(pd.DataFrame({"a": [np.nan, np.nan], "b": [1.0, 2.0]}), missing="impute")


def test_categories_become_groups(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"], "n": [1, 2, 1]})
    frame.to_csv(tmp_path / "c.csv", index=False)
    for source in (frame, tmp_path / "c.csv", pl.from_pandas(frame), frame.astype({"colour": "category"})):
        table = read_table(source, categorical=["n"])
        assert table.features == ("x", "colour=blue", "colour=red", "n=1", "n=2")
        assert table.groups == (None, "colour", "colour", "n", "n")
        np.testing.assert_array_equal(table.X, [[1, 0, 1, 1, 0], [2, 1, 0, 0, 1], [3, 0, 1, 1, 0]])
    phi = similarity.from_labels(table.groups)
    assert np.asarray(phi @ phi.T)[1].round(6).tolist() == [0, 1, 0.9, 0, 0]


def test_codes_are_categories_word_for_word(tmp_path):
    rows = [("id", "code", "x", "y"), ("s1", "00", "1", "2.5"), ("s2", "0", "2", "3"), ("s3", "0.0", "NA", "4")]
    for name, table in (("rows.csv", rows), ("columns.csv", list(zip(*rows, strict=True)))):
        (tmp_path / name).write_text("".join(",".join(cells) + "\n" for cells in table))
        found = read_table(
            tmp_path / name, "y", categorical="code", missing="impute", samples=name.removesuffix(".csv")
        )
        assert found.features == ("code=0", "code=0.0", "code=00", "x")
        assert found.samples == ("s1", "s2", "s3")
        np.testing.assert_array_equal(found.X, [[0, 0, 1, 1], [1, 0, 0, 2], [0, 1, 0, 1.5]])
        assert found.y.tolist() == [2.5, 3, 4]
    # an outcome may be named too: it is no feature
    found = read_table(tmp_path / "rows.csv", "y", categorical=["code", "y"], missing="impute")
    assert found.y.tolist() == [2.5, 3, 4]


def test_booleans_and_nullable_types_are_numbers():
    frame = pd.DataFrame({"p": [True, False], "q": pd.array([1, 2], dtype="Int64"), "r": [1.5, 2.5]})
    np.testing.assert_array_equal(read_table(frame).X, [[1, 1, 1.5], [0, 2, 2.5]])
    np.testing.assert_array_equal(read_table(pl.from_pandas(frame)).X, [[1, 1, 1.5], [0, 2, 2.5]])


NO_CATEGORIES = {
    "percentages": ["12%", "7.5 %", "100%", "x"],
    "hexadecimal numbers": ["0x1f", "0xAA", "0x3", "0x1f"],
    "dates": ["2020-01-31", "2020-02-01", "2021-01-01 10:00", "2020-01-31"],
    "times": ["10:30", "11:45:10", "9:05", "10:30"],
    "numbers with separators": ["1,234,567", "12 345 678", "1'000", "1'000"],
    "numbers with a limit": ["<0.5", "> 100", "<0.5", "normal"],
    "words that differ in nearly every row": ["a", "b", "c", "d"],
}


@pytest.mark.parametrize(("kind", "cells"), NO_CATEGORIES.items(), ids=NO_CATEGORIES)
def test_text_that_is_no_category_is_told(kind, cells):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "t": cells})
    said = rf"table, column 't': {kind}, such as '.*', became \d columns .*drop=\['t'\]; .* say categorical=\['t'\]"
    with pytest.warns(DataWarning, match=said):
        assert len(read_table(frame).features) == 1 + len(set(cells))
    assert len(read_table(frame, categorical="t").features) == 1 + len(set(cells))  # as asked, in silence


def test_numbers_that_may_be_codes_are_reported():
    i = np.arange(30)
    frame = pd.DataFrame({"centre": i % 5 + 1, "sex": i % 2, "steps": i % 7 * 2, "half": i % 4 / 2, "x": i})
    frame["year"] = 2000 + i % 3
    assert read_table(frame).report.codes == ("centre",)
    assert read_table(frame, categorical="centre").report.codes == ()
    genotypes = pd.DataFrame(np.random.default_rng(0).integers(0, 3, size=(30, 60)))
    assert read_table(genotypes).report.codes == ()
