"""Tables from every source give the same numbers, and bad ones a helpful line."""

import datetime as dt
import gzip
import warnings

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from variegate.data import DataWarning, UnreadableInput, read_table, text

FRAME = pd.DataFrame(
    {
        "id": ["s1", "s2", "s3", "s4"],
        "a": [1.0, 2.0, 3.0, 4.5],
        "b": [0, 1, 0, 1],
        "still": [7.0, 7.0, 7.0, 7.0],
        "y": [10.0, 20.0, 30.0, 40.0],
    }
)
X = FRAME[["a", "b", "still"]].to_numpy(float)


def text_of(frame, sep=",", end="\n"):
    return frame.to_csv(index=False, sep=sep, lineterminator=end)


def sources(tmp_path):
    """The same table in every form."""
    paths = {
        "t.csv": text_of(FRAME).encode(),
        "t.tsv.gz": gzip.compress(text_of(FRAME, "\t", "\r\n").encode()),
        "semicolons.txt": text_of(FRAME, ";").encode(),
        "comments.csv": b"# made by hand\n#\n" + text_of(FRAME).encode(),
        "hash.csv": b"#" + text_of(FRAME).encode(),
        "trailing.csv": text_of(FRAME).replace("\n", ",\n").encode(),
        "excel.csv": b"sep=,\r\n" + text_of(FRAME, end="\r\n").encode(),
        "comma.csv": b"# made by hand, in 2020, on a, rainy, day\n" + text_of(FRAME).encode(),
        "quoted.csv": FRAME.to_csv(index=False, quoting=1).encode(),
        "r.tsv": FRAME.set_index("id").to_csv(sep="\t").replace("id\t", "", 1).encode(),
        "mark.csv": b"\xef\xbb\xbf" + text_of(FRAME).encode(),
    }
    for name, content in paths.items():
        (tmp_path / name).write_bytes(content)
        yield tmp_path / name
    FRAME.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=X, features=["a", "b", "still"], samples=FRAME["id"].to_numpy(str), y=FRAME["y"])
    obs = FRAME[["y"]].set_axis(FRAME["id"].tolist())
    for name, values in {"t.h5ad": X, "s.h5ad": sparse.csr_matrix(X)}.items():
        anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=["a", "b", "still"])).write_h5ad(tmp_path / name)
    yield from (tmp_path / name for name in ("t.parquet", "t.npz", "t.h5ad", "s.h5ad"))
    yield from (FRAME, FRAME.set_index("id"), pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME))


def test_every_source_reads_the_same(tmp_path):
    for source in sources(tmp_path):
        table = read_table(source, "y")
        np.testing.assert_array_equal(table.X, X, err_msg=str(source))
        assert table.features == ("a", "b", "still"), source
        assert table.samples == ("s1", "s2", "s3", "s4"), source
        np.testing.assert_array_equal(table.y, FRAME["y"])
        assert table.report.constant == ("still",)
        assert table.groups == (None, None, None)


def test_samples_in_columns(tmp_path):
    turned = FRAME.set_index("id").T
    turned.to_csv(tmp_path / "t.csv")
    for source in (tmp_path / "t.csv", turned):
        table = read_table(source, "y", samples="columns")
        np.testing.assert_array_equal(table.X, X)
        assert (table.features, table.samples) == (("a", "b", "still"), ("s1", "s2", "s3", "s4"))
        np.testing.assert_array_equal(table.y, FRAME["y"])


def test_text_outcomes_stay_as_they_are(tmp_path):
    frame = FRAME.assign(y=["stage i", "stage ii", "stage i", "stage ii"])
    frame.set_index("id").T.to_csv(tmp_path / "t.csv")
    for table in (
        read_table(frame, "y"),
        read_table(frame.astype({"y": "category"}), "y"),
        read_table(pl.from_pandas(frame), "y"),
        read_table(pl.from_pandas(frame).with_columns(pl.col("y").cast(pl.Categorical)), "y"),
        read_table(tmp_path / "t.csv", "y", samples="columns"),
    ):
        assert table.y.tolist() == ["stage i", "stage ii", "stage i", "stage ii"]
        np.testing.assert_array_equal(table.X, X)


def test_outcome_joined_from_a_second_table(tmp_path):
    features = FRAME.drop(columns="y")
    other = FRAME[["id", "y"]].iloc[[3, 0, 1]]
    other.to_csv(tmp_path / "y.csv", index=False)
    for second in (tmp_path / "y.csv", other, other.set_index("id"), pl.from_pandas(other)):
        with pytest.warns(DataWarning, match="1 of 4 samples are not in"):
            table = read_table(features, "y", outcome_table=second)
        assert table.samples == ("s1", "s2", "s4")
        assert table.y.tolist() == [10.0, 20.0, 40.0]
        np.testing.assert_array_equal(table.X, X[[0, 1, 3]])
    with pytest.raises(UnreadableInput, match=r"none is there: 's1' against 'patient-1'"):
        read_table(features, "y", outcome_table=other.assign(id=["patient-1", "p2", "p3"]))
    with pytest.raises(UnreadableInput, match="sample ids with different names, but 's1'"):
        read_table(features, "y", outcome_table=other.assign(id="s1"))
    with pytest.raises(UnreadableInput, match="outcome column 'z'"):
        read_table(features, "z", outcome_table=other)
    with pytest.raises(ValueError, match="expected outcome, the name"):
        read_table(features, outcome_table=other)


def test_cbioportal_files(tmp_path):
    """Two name columns before the samples, clinical tables below comment lines, ids in the second column."""
    (tmp_path / "mrna.txt").write_text("Hugo_Symbol\tEntrez_Gene_Id\tS-01\tS-02\nTP53\t7157\t1.5\t2\nNA\t10\t3\t4\n")
    (tmp_path / "clinical.txt").write_text(
        "#Patient\tSample\tStage\n#STRING\tSTRING\tSTRING\n#1\t1\t1\n"
        "PATIENT_ID\tSAMPLE_ID\tSTAGE\nP2\tS-02\tII\nP1\tS-01\tI\n"
    )
    options = {"samples": "columns", "outcome_table": tmp_path / "clinical.txt", "outcome_id": "SAMPLE_ID"}
    table = read_table(tmp_path / "mrna.txt", "STAGE", drop=["Entrez_Gene_Id"], **options)
    assert (table.features, table.samples) == (("TP53", "NA"), ("S-01", "S-02"))
    assert table.X.tolist() == [[1.5, 3.0], [2.0, 4.0]]
    assert table.y.tolist() == ["I", "II"]
    by_id = read_table(tmp_path / "mrna.txt", "STAGE", id_column="Entrez_Gene_Id", drop=["Hugo_Symbol"], **options)
    assert by_id.features == ("7157", "10")
    with pytest.raises(UnreadableInput, match="an id column 'WHO'"):
        read_table(tmp_path / "mrna.txt", "STAGE", **{**options, "outcome_id": "WHO"})


def test_numbers_called_id_are_no_feature(tmp_path):
    for title in ("id", "Patient_No", "sample", ""):
        (tmp_path / "t.csv").write_text(f"{title},a,y\n1,5,1\n2,6,0\n")
        table = read_table(tmp_path / "t.csv", "y")
        assert (table.features, table.samples) == (("a",), ("1", "2"))
    (tmp_path / "t.csv").write_text("case,a\n1,5\n0,6\n1,7\n")  # cases and controls: a measurement after all
    assert read_table(tmp_path / "t.csv").features == ("case", "a")


def test_ids_that_repeat_are_no_feature(tmp_path):
    path = tmp_path / "t.csv"
    for title in ("id", "patient_id", "Sample", "", "index"):
        for cells in (("p1", "p2", "p1", "p2"), ("7", "8", "7", "8")):
            path.write_text(f"{title},a\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)))
            with pytest.raises(
                UnreadableInput, match=f"'{title}'.*'{cells[0]}' is in rows 1, 3 .2 such ids.; .*drop="
            ):
                read_table(path)
            assert read_table(path, drop=title).features == ("a",)
            with pytest.warns(DataWarning, match=f"'{cells[0]}' is the id of 2 samples .2 such ids."):
                table = read_table(path, id_column=title)
            assert (table.features, table.samples) == (("a",), cells)
    with pytest.raises(UnreadableInput, match="'p' is in rows 1, 2 "):
        read_table(pd.DataFrame({"subject": ["p", "p"], "a": [1, 2]}))
    assert read_table(path, categorical="index").features == ("index=7", "index=8", "a")


def test_ids_elsewhere_in_the_table_are_told(tmp_path):
    (tmp_path / "t.csv").write_text("a,patient_id,case\n1,7,1\n2,8,0\n3,9,1\n")
    with pytest.warns(
        DataWarning, match=r"column 'patient_id' reads like ids, .* give id_column='patient_id' or drop="
    ):
        assert read_table(tmp_path / "t.csv").features == ("a", "patient_id", "case")
    assert read_table(tmp_path / "t.csv", id_column="patient_id").samples == ("7", "8", "9")


def test_ids_can_be_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("id,a\n1,5\n2,6\n")
    table = read_table(tmp_path / "t.csv", drop=["id"])
    assert (table.features, table.samples) == (("a",), ("1", "2"))


def test_a_name_may_be_given_twice():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 1.0], "y": [0.0, 1.0]})
    assert read_table(frame, "y", drop=["a", "a"]).features == ("b",)


@pytest.mark.parametrize("title", ["a\nb", "\na", "a\n\nb", "a\n", "a,\n;b"])
@pytest.mark.parametrize("above", ["", "\n", "# comment\n\n"])
def test_line_breaks_inside_quoted_names(tmp_path, title, above):
    (tmp_path / "t.csv").write_text(f'{above}"{title}",b,"c\nd"\n1,2,3\n4,5,6\n')
    table = read_table(tmp_path / "t.csv")
    assert table.features == (title.strip(), "b", "c\nd")
    assert table.X.tolist() == [[1, 2, 3], [4, 5, 6]]
    (tmp_path / "t.csv").write_text(f'{above}"{title}",b,"c\nd"\n1,2,3\n4,5,6,7\n')
    line = (above + title + "c\nd").count("\n") + 3
    with pytest.raises(UnreadableInput, match=f"line {line}: expected 3 columns"):
        read_table(tmp_path / "t.csv")


def test_delimiters_at_the_ends_of_rows_only(tmp_path):
    (tmp_path / "t.csv").write_text("id,a,b\ns1,1,2,\ns2,3,4,\n")
    table = read_table(tmp_path / "t.csv", missing="drop_features")
    assert (table.features, table.samples, table.X.tolist()) == (("a", "b"), ("s1", "s2"), [[1, 2], [3, 4]])


def test_a_header_of_numbers_is_told(tmp_path):
    (tmp_path / "t.csv").write_text("1.5,2,3\n4,5,6\n")
    with pytest.warns(DataWarning, match=r"first line, '1.5, 2, 3', holds only numbers and is taken for the header"):
        assert read_table(tmp_path / "t.csv").X.tolist() == [[4, 5, 6]]
    for header in ("0,1,2", "y,850,852"):  # pandas' own names; wavelengths
        (tmp_path / "t.csv").write_text(f"{header}\n4,5,6\n")
        assert len(read_table(tmp_path / "t.csv").features) == 3


def test_spaces_before_quotes(tmp_path):
    (tmp_path / "t.csv").write_text('id, "a, b", c\ns1, 1, "2"\n')
    table = read_table(tmp_path / "t.csv")
    assert (table.features, table.X.tolist()) == (("a, b", "c"), [[1, 2]])


def test_outcomes_in_the_first_column_can_be_missing(tmp_path):
    (tmp_path / "t.csv").write_text("y,a\nI,5\nNA,6\nII,7\n")
    assert read_table(tmp_path / "t.csv", "y", missing="drop_samples").y.tolist() == ["I", "II"]
    (tmp_path / "t.csv").write_text("y,a\n1,5\nNA,6\n0,7\n")
    assert read_table(tmp_path / "t.csv", "y", missing="drop_samples").y.tolist() == [1.0, 0.0]


def test_gene_names_that_look_like_missing_values_or_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("gene,s1,s2\nNA,1,2\nnan,3,4\n1e5,5,6\n")
    assert read_table(tmp_path / "t.csv", samples="columns").features == ("NA", "nan", "1e5")
    (tmp_path / "u.csv").write_text("NA,sample,nan\n1,NA,2\n3,07,4\n")
    table = read_table(tmp_path / "u.csv", id_column="sample")
    assert (table.features, table.samples) == (("NA", "nan"), ("NA", "07"))


def test_an_outcome_that_is_not_there_shows_those_that_are(tmp_path):
    obs = pd.DataFrame({"stage": ["I", "II"]}, index=["s", "t"])
    anndata.AnnData(np.eye(2), obs=obs).write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(UnreadableInput, match=r"an outcome column 'Stage', found .*; did you mean 'stage'\?"):
        read_table(tmp_path / "t.h5ad", "Stage")


def test_missing_outcomes_follow_the_rule():
    frame = FRAME.assign(y=[1.0, np.nan, 3.0, 4.0])
    with pytest.raises(UnreadableInput, match=r"y \(outcome\) \(1\)"):
        read_table(frame, "y")
    for rule in ("drop_samples", "impute", "drop_features"):
        table = read_table(frame, "y", missing=rule)
        assert table.samples == ("s1", "s3", "s4")
        assert table.features == ("a", "b", "still")


def test_tables_without_samples_or_features():
    for empty in (FRAME.iloc[:0], FRAME[["id", "y"]], pl.from_pandas(FRAME[["y"]]), FRAME[["id"]].iloc[:0]):
        with pytest.raises(UnreadableInput, match=r"expected samples and features, got \d samples and \d features"):
            read_table(empty, "y" if "y" in empty.columns else None)


def test_infinite_cells_are_placed():
    with pytest.raises(UnreadableInput, match=r"the pandas table, sample '2', column 'b': .* infinite"):
        read_table(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.inf]}))
    with pytest.raises(UnreadableInput, match="sample 's3', column 'a'"):
        read_table(FRAME.assign(a=[1, 2, -np.inf, 3]))
    with pytest.raises(UnreadableInput, match="sample 's2', outcome 'y': expected finite"):
        read_table(FRAME.assign(y=[1, np.inf, 2, 3]), "y")


def test_float32_stays(tmp_path):
    np.savez(tmp_path / "t.npz", X=X.astype(np.float32))
    assert read_table(tmp_path / "t.npz").X.dtype == np.float32


BAD_TABLES = {
    "empty": (b"", "empty"),
    "only a header": (b"a,b\n", "at least one row below"),
    "one column": (b"abc\ndef\n", "only one: 'abc'"),
    "duplicated column": (b"a,b,a\n1,2,3\n", "'a' is the name of numbers 1, 3"),
    "long line": (b"a,b\n1,2\n1,2,3\n", "line 3: expected 2 columns .* got 3"),
    "long second line": (b"id,a\ns0,1,9\ns1,2\n", "line 2: expected 2 columns .* got 3"),
    "short line of R": (b"a,b\ns0,1,2\ns1,2,3\ns2,4\n", "line 4: expected 3 columns .* got 2"),
    "short line": (b"a,b,c\n1,2,3\n\n1,2\n", "line 4: expected 3 columns .* got 2"),
    "non-numeric cell": (b"a,b\n1,2\n3,4\n5,six\n7,8\n", "sample '3', column 'b': expected a number, got 'six'"),
    "after a quoted line end": (b'n,a\n"x\ny",1\nz,2\nw,q\nv,3\n', "sample 'w', column 'a'"),
    "free text": (
        b"a,b\n" + b"".join(b"%d,t%d\n" % (i, i) for i in range(60)),
        "text with 60 different values",
    ),
    "infinite": (b"a,b\n2,3\n\n1,inf\n", "sample '2', column 'b': expected finite"),
    "binary": (b"a,b\n1,\x00\n", "line 2: expected text, got binary"),
    "truncated gzip": (gzip.compress(b"a,b\n1,2\n" * 500)[:-12], "cut short or damaged"),
    "excel in disguise": (b"PK\x03\x04....", "zip archive"),
    "open quote": (b'a,b\n\n1,2\n1,"2\n3,4\n', "line 4: a quote is opened"),
    "open quote in the header": (b'a,"b\n3,4\n', "line 1: a quote is opened"),
    "decimal commas": (b"a;b\n1,5;2,5\n1,6;2,6\n", "column 'b': expected decimal points"),
}


@pytest.mark.parametrize(("content", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_named(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(UnreadableInput, match=message) as caught:
        read_table(path)
    assert "bad.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.npz", "t.h5ad"])
def test_damaged_binary_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04 this is none of them")
    with pytest.raises(UnreadableInput, match=f"{name}: expected an? .* cannot be read"):
        read_table(path)
    path.unlink()
    with pytest.raises(UnreadableInput, match="found none"):
        read_table(path)


def test_npz_names_must_fit(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), features=["a", "b", "c"], names=["u"])
    with pytest.raises(
        UnreadableInput, match=r"'features' for each of the 2 columns of X \(3, 2\), got shape \(3,\); .*samples="
    ):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=np.arange(6).reshape(3, 2), features=["a", "b", "c"], samples=["s", "t"])
    table = read_table(tmp_path / "t.npz", samples="columns")
    assert (table.features, table.samples) == (("a", "b", "c"), ("s", "t"))
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2)), features=[["a", "b"]])
    with pytest.raises(UnreadableInput, match=r"'features' .* got shape \(1, 2\)"):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), ids=["a", "b"])
    with pytest.raises(UnreadableInput, match="'ids' for each of the 3 rows"):
        read_table(tmp_path / "t.npz")


def test_npz_without_a_table_or_with_pickles(tmp_path):
    np.savez(tmp_path / "v.npz", y=np.ones(3))
    with pytest.raises(UnreadableInput, match=r"numeric array 'X' .* found \['y'\]"):
        read_table(tmp_path / "v.npz")
    np.savez(tmp_path / "o.npz", X=np.array([[object()]]))
    with pytest.raises(UnreadableInput, match="plain arrays"):
        read_table(tmp_path / "o.npz")


def test_a_bad_cell_with_samples_in_columns_names_sample_and_feature(tmp_path):
    (tmp_path / "t.csv").write_text("gene,s1,s2,s3\nTP53,1,oops,2\nMYC,1,2,3\n")
    with pytest.raises(UnreadableInput, match=r"t.csv, sample 's2', column 'TP53': expected a number, got 'oops'"):
        read_table(tmp_path / "t.csv", samples="columns")


def test_bad_options(tmp_path):
    wrong = [
        ({"outcome": "Y"}, r"outcome column 'Y', found .*; did you mean 'y'\?"),
        ({"id_column": "who"}, "id column 'who'"),
        ({"drop": ["nobody"]}, "nobody"),
        ({"drop": "nobody"}, r"drop 'nobody', found \['id', 'a'"),
        ({"categorical": "ab"}, "categorical column 'ab'"),
        ({"categorical": ["a", "B"]}, "categorical column 'B'"),
        ({"missing": "ignore"}, "one of error"),
        ({"outcome": [["y"]]}, "outcome must be the name"),
        ({"id_column": 2.5}, "id_column must be the name"),
        ({"drop": [["a"]]}, "drop must be the name"),
        ({"samples": "diagonal"}, '"rows" or "columns"'),
    ]
    for options, message in wrong:
        with pytest.raises(ValueError, match=message):
            read_table(FRAME, **options)
    with pytest.raises(TypeError, match="expected a table"):
        read_table(42)
    with pytest.raises(UnreadableInput, match="save the sheet as CSV"):
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(UnreadableInput, match="columns with different names"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    dated = {"a": [1], "d": [dt.date(2020, 1, 1)]}
    for dates in (pd.DataFrame(dated), pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}), pl.DataFrame(dated)):
        with pytest.raises(UnreadableInput, match=r"sample '1', column 'd': .* (Timestamp|date);"):
            read_table(dates)


def test_wrong_delimiters(tmp_path):
    (tmp_path / "t.csv").write_text("id;a;b\ns1;1,5;2\n")
    with pytest.raises(
        UnreadableInput, match=r"t\.csv: .* with the delimiter ',' there is one: 'id;a;b'; give another"
    ):
        read_table(tmp_path / "t.csv", delimiter=",")
    for wrong in ("", ",,", 5):
        with pytest.raises(ValueError, match="delimiter must be one character"):
            read_table(tmp_path / "t.csv", delimiter=wrong)


def test_columns_may_be_called_by_numbers():
    frame = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    table = read_table(frame, outcome=2, drop=0)
    assert (table.features, table.y.tolist()) == (("1",), [3.0, 6.0])


def test_missing_extras_name_the_extra(monkeypatch):
    from variegate.data import errors

    with pytest.raises(ImportError, match=r'pip install "variegate\[tables\]"'):
        errors.optional("a_package_that_does_not_exist", "tables")


@pytest.mark.parametrize("kind", ["csv.gz", "npz"])
def test_a_small_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(text, "SMALL_ENOUGH", 1 << 16)
    path = tmp_path / f"bomb.{kind}"
    if kind == "npz":
        np.savez_compressed(path, X=np.zeros((2000, 200)))
    else:
        path.write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * 500_000))
    with pytest.raises(UnreadableInput, match=r"unpacks to more than 100 times its .* bytes.*give trust=True"):
        read_table(path)
    assert read_table(path, trust=True).X.any() == 0
    with pytest.raises(UnreadableInput, match="unpacks to more"):  # trust ends with the call
        read_table(path)


def test_several_outcomes():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "months": [5.0, 3.0, None], "died": ["yes", "no", "yes"]})
    table = read_table(frame, ["months", "died"], missing="drop_samples")
    assert table.features == ("a",)
    assert table.outcome is None
    assert table.y.to_dict("list") == {"months": [5.0, 3.0], "died": ["yes", "no"]}
    with pytest.raises(UnreadableInput, match=r"months \(outcome\) \(1\)"):
        read_table(frame, ["months", "died"])
    genes, clinic = frame[["a"]].set_axis(["P1", "P2", "P3"]), frame.set_axis(["P3", "P2", "P1"]).drop(columns="a")
    joined = read_table(genes, ["died", "months"], outcome_table=clinic, missing="drop_samples")
    assert joined.y["died"].tolist() == ["no", "yes"]
    assert joined.samples == ("P2", "P3")


def test_names_are_checked_before_cells(tmp_path):
    table, second = tmp_path / "t.csv", tmp_path / "u.csv"
    table.write_text("id,a,y\ns1,1,2\ns2,1\n")  # the last line is too short
    second.write_text("id,stage\ns1,I\ns2\n")
    for options, message in (
        ({"outcome": "Y"}, "t.csv: expected an outcome column 'Y'.* did you mean 'y'"),
        ({"outcome": "y", "drop": "b"}, "column to drop 'b'"),
        ({"outcome": "y", "categorical": "b"}, "categorical column 'b'"),
        ({"outcome": "y", "id_column": "b"}, "an id column 'b'"),
        ({"outcome": "y", "always_include": "b"}, "always_include: there is no feature called 'b' in .*t.csv, which"),
        ({"outcome": "y", "always_include": "y"}, "always_include: 'y' is the outcome, holds ids or is left out"),
        ({"outcome": "stag", "outcome_table": second}, "u.csv: expected an outcome column 'stag'.* mean 'stage'"),
        ({"outcome": "stage", "outcome_table": second, "outcome_id": "no"}, "u.csv: expected an id column 'no'"),
        ({"outcome": "stage", "outcome_table": second, "always_include": "age"}, "'age' in .* or the second table"),
        ({"outcome": "y"}, "line 3: expected 3 columns"),
    ):
        with pytest.raises(UnreadableInput, match=message):
            read_table(table, **options)
    turned = FRAME.set_index("id").T
    with pytest.raises(UnreadableInput, match=r"an outcome column 'Y'.* did you mean 'y'"):
        read_table(turned, "Y", samples="columns")


def test_columns_of_the_second_table_become_features(tmp_path):
    clinic = pd.DataFrame(
        {"id": ["s4", "s2", "s1", "s9"], "y": [4, 2, 1, 9], "age": [40, 20, None, "old"], "site": [*"NSN", "W"]}
    )
    clinic.to_csv(tmp_path / "clinic.csv", index=False)
    genes = FRAME[["id", "a", "b"]]
    how = {"outcome_table": tmp_path / "clinic.csv", "always_include": ["b", "age", "site"]}
    with pytest.warns(DataWarning, match="1 of 4 samples are not in"):
        table = read_table(genes, "y", missing="impute", **how)
    assert table.features == ("a", "b", "age", "site=N", "site=S")
    assert table.groups == (None, None, None, "site", "site")
    assert table.X.tolist() == [[1, 0, 30, 1, 0], [2, 1, 20, 0, 1], [4.5, 1, 40, 1, 0]]
    with (
        pytest.warns(DataWarning),
        pytest.raises(UnreadableInput, match=r"clinic.csv: .* age \(1\); choose") as caught,
    ):
        read_table(genes, "y", **how)
    assert "pandas table" not in str(caught.value)
    with (
        pytest.warns(DataWarning),
        pytest.raises(UnreadableInput, match=r"'age' has 1 missing values.*'drop_samples'"),
    ):
        read_table(genes, "y", missing="drop_features", **how)
    clinic.assign(age=[40, "old", 1, 2]).to_csv(tmp_path / "clinic.csv", index=False)
    with (
        pytest.warns(DataWarning),
        pytest.raises(UnreadableInput, match=r"clinic.csv, sample 's2', column 'age': .* 'old'"),
    ):
        read_table(genes, "y", **how)


def test_only_rows_of_the_classes_need_values():
    genes = FRAME[["id", "a"]].assign(b=[1, 2, None, 4])
    clinic = pd.DataFrame({"id": FRAME["id"], "stage": ["I", "II", "III", None], "age": [1, 2, None, None]})
    how = {"outcome_table": clinic, "always_include": "age"}
    table = read_table(genes, "stage", classes=["I", "II"], **how)
    assert (table.samples, table.y.tolist(), table.report.other_classes) == (("s1", "s2"), ["I", "II"], 2)
    assert table.X.tolist() == [[1, 1, 1], [2, 2, 2]]
    with pytest.raises(UnreadableInput, match="classes: there is no class 'IV' in 'stage', which has I, II, III"):
        read_table(genes, "stage", classes=["I", "IV"], **how)
    with pytest.raises(UnreadableInput, match=r"the pandas table: .* b \(1\), age \(1\)"):
        read_table(genes, "stage", classes=["I", "II", "III"], **how)
    with pytest.raises(ValueError, match="classes needs outcome"):
        read_table(genes, classes=["I"])
    numbers = FRAME.assign(y=[1.0, 2.0, 1.0, np.nan])  # blanks make them floats
    assert read_table(numbers, "y", classes=["1"]).samples == ("s1", "s3")


def test_arrays_that_are_not_about_samples_are_told(tmp_path):
    Y = np.array([[1, 2], [3, 4], [5, 6]])
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), features=["a", "b"], entrez=[1, 2], Y=Y, level=0.5)
    with pytest.warns(DataWarning, match="t.npz: ignoring entrez, level: not names, and no entry for each sample"):
        assert read_table(tmp_path / "t.npz", "Y[1]").y.tolist() == [2, 4, 6]


def test_ids_may_stand_beside_the_table(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, patient=["p1", "p2", "p3", "p4"], y=[1, 2, 3, 4])
    assert read_table(tmp_path / "t.npz", "y", id_column="patient", drop="patient").samples == ("p1", "p2", "p3", "p4")


def test_words_far_below_numbers_make_the_whole_column_words(tmp_path):
    """Pandas reads 512 rows of this table at a time; the first of them hold numbers only."""
    codes = ["007"] * 600 + ["x"] * 100
    header = ",".join(["id", "code", *(f"c{j}" for j in range(1100))])
    (tmp_path / "t.csv").write_text(
        "\n".join([header, *(f"s{i},{code}{',1' * 1100}" for i, code in enumerate(codes))])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as for a user: pandas only warns
        assert read_table(tmp_path / "t.csv", "code").y.tolist() == codes
