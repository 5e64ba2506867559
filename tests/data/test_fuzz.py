"""Whatever the bytes, a reader gives a right answer or the documented error, never another exception."""

import gzip
import io
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from variegate.data import (
    DataWarning,
    Network,
    Table,
    UnreadableInput,
    read_biogrid,
    read_edges,
    read_gene_sets,
    read_graphml,
    read_network,
    read_string,
    read_table,
)
from variegate.data.csv_table import MISSING

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# text that looks like a table most of the time reaches deeper than random bytes do
LETTERS = [
    "a",
    "B",
    "b",
    "1",
    "2.5",
    "-3",
    "NA",
    '"',
    '""',
    "#",
    "'",
    ",",
    ";",
    "|",
    "é",
    "\ufeff",
    '"a\nb"',
    "9" * 400,
]
SPACES = ["", "\t", " ", "\n", "\r\n", "\r", "\x0b", "\x85", "\u2028"]
PIECES = st.sampled_from([*LETTERS, *SPACES, "1,5", "inf", "1e999", "True", "source", "target"])
TABLE_LIKE = st.lists(PIECES, max_size=40).map("".join).map(str.encode)
GRID = st.lists(st.lists(PIECES, min_size=2, max_size=3), min_size=1, max_size=6).map(
    lambda rows: "\n".join(",".join(cells) for cells in rows).encode()
)
CONTENT = st.one_of(st.binary(max_size=200), TABLE_LIKE, GRID)
BIOGRID_HEAD = (
    b"#BioGRID Interaction ID\tEntrez Gene Interactor A\tEntrez Gene Interactor B\t"
    b"Official Symbol Interactor A\t"
    b"Official Symbol Interactor B\tSynonyms Interactor A\tSynonyms Interactor B\tExperimental System Type\t"
    b"Organism Interactor A\tOrganism Interactor B\n1\t1\t2\tA\tB\t-\tb|c\tphysical\t9606\t9606\n"
)
READERS = {
    "edges": (read_edges, b"", Network),
    "network": (read_network, b"", Network),
    "biogrid": (read_biogrid, BIOGRID_HEAD, Network),
    "string": (read_string, b"protein1 protein2 combined_score\n9606.A 9606.B 900\n", Network),
    "graphml": (read_graphml, b"<graphml><node id='a'/>", Network),
    "gene sets": (read_gene_sets, b"", dict),
    "table": (read_table, b"", Table),
    "table, samples in columns": (lambda path: read_table(path, samples="columns"), b"", Table),
    "table, imputed": (lambda path: read_table(path, "a", missing="impute"), b"a,b\n", Table),
}


def answer(reader, path):
    """What the reader returns, or its documented error."""
    try:
        return reader(path)
    except UnreadableInput as error:
        return error


@pytest.mark.parametrize(("reader", "head", "kind"), READERS.values(), ids=READERS)
@given(content=CONTENT, zipped=st.booleans(), cut=st.integers(0, 30), with_head=st.booleans())
@FUZZ
def test_text_readers(tmp_path, reader, head, kind, content, zipped, cut, with_head):
    content = (head if with_head else b"") + content
    content = gzip.compress(content)[: -cut or None] if zipped else content
    path = tmp_path / "fuzz.txt"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        result = answer(reader, path)
    if isinstance(result, UnreadableInput):
        assert "\n" not in str(result)
        return
    assert isinstance(result, kind)
    if isinstance(result, Network):
        assert len(set(result.names)) == len(result.names) == result.adjacency.shape[0]
        assert result.adjacency.diagonal().sum() == 0
        assert (result.adjacency != result.adjacency.T).nnz == 0
        assert set(result.aliases.values()) <= set(result.names)
    if isinstance(result, Table):
        assert result.X.shape == (len(result.samples), len(result.features)) == (len(result.X), len(result.groups))
        assert np.isfinite(result.X).all()


def damaged(content, position, byte, cut):
    content = bytearray(content)
    content[position % len(content)] = byte
    return bytes(content[: len(content) - cut % len(content)])


def whole_files():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    parquet, npz = io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    np.savez_compressed(npz, X=np.eye(3), features=["a", "b", "c"], y=np.arange(3))
    return {"f.parquet": parquet.getvalue(), "f.npz": npz.getvalue()}


@pytest.mark.parametrize(("name", "content"), whole_files().items())
@given(position=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.integers(0, 10_000) | st.just(0))
@FUZZ
def test_damaged_binary_files(tmp_path, name, content, position, byte, cut):
    path = tmp_path / name
    path.write_bytes(damaged(content, position, byte, cut))
    result = answer(read_table, path)
    assert isinstance(result, Table) or name in str(result)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6).filter(
    lambda name: not name.startswith(("#", "\ufeff"))
)
# with line breaks, which quotes protect; blanks around a name are no part of it
BROKEN_NAMES = st.lists(NAMES, min_size=1, max_size=3).map("\n".join)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(data=st.data(), sep=st.sampled_from([",", "\t", ";"]), end=st.sampled_from(["\n", "\r\n"]))
@FUZZ
def test_numbers_survive_a_round_trip(tmp_path, data, sep, end):
    columns = data.draw(st.lists(BROKEN_NAMES, min_size=2, max_size=4, unique=True))
    rows = data.draw(st.lists(st.tuples(*[NUMBERS] * len(columns)), min_size=1, max_size=5))
    path = tmp_path / "round.csv"
    header = sep.join('"' + name.replace('"', '""') + '"' for name in columns)
    body = end.join(sep.join(map(repr, row)) for row in rows)
    path.write_text(header + end + body + end, encoding="utf-8", newline="")
    table = read_table(path, delimiter=sep)
    if "index" not in columns:
        assert table.features == tuple(columns)
        np.testing.assert_array_equal(table.X[:, 0], [row[0] for row in rows])  # may be ids, so read as text
        np.testing.assert_array_equal(
            table.X[:, 1:], pd.read_csv(path, sep=sep, index_col=False).to_numpy(float)[:, 1:]
        )


@given(data=st.data(), sep=st.sampled_from([",", "\t", ";", " "]))
@FUZZ
def test_edges_survive_a_round_trip(tmp_path, data, sep):
    edges = data.draw(st.lists(st.tuples(BROKEN_NAMES, BROKEN_NAMES), min_size=1, max_size=8))
    path = tmp_path / "round.csv"
    quoted = [sep.join('"' + name.replace('"', '""') + '"' for name in edge) for edge in edges]
    path.write_text("\n".join(quoted), encoding="utf-8", newline="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        network = read_edges(path, delimiter=sep, header=False)
    assert set(network.names) == {name for edge in edges for name in edge}
    assert network.n_edges == len({frozenset(edge) for edge in edges if edge[0] != edge[1]})


@given(data=st.data(), sep=st.sampled_from([",", "\t", ";"]), end=st.sampled_from(["\n", "\r\n"]))
@FUZZ
def test_words_survive_a_round_trip(tmp_path, data, sep, end):
    """Ids, a categorical column and samples in columns, with line breaks inside the cells."""
    ids = data.draw(st.lists(BROKEN_NAMES, min_size=2, max_size=5, unique=True))
    words = data.draw(st.lists(BROKEN_NAMES, min_size=len(ids), max_size=len(ids)))
    rows = [("id", "word", "x"), *zip(ids, words, map(str, range(len(ids))), strict=True)]
    path = tmp_path / "round.csv"
    lines = [sep.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    path.write_text(end.join(lines) + end, encoding="utf-8", newline="")
    how = {"id_column": "id", "categorical": "word", "delimiter": sep}
    table = read_table(path, missing="drop_features" if set(words) <= set(MISSING) else "impute", **how)
    assert table.samples == tuple(ids)
    assert table.X[:, -1].tolist() == list(range(len(ids)))
    known = [i for i, word in enumerate(words) if word not in MISSING]
    for i in known:
        assert table.X[i, table.features.index(f"word={words[i]}")] == 1
    turned = [sep.join('"' + cell.replace('"', '""') + '"' for cell in column) for column in zip(*rows, strict=True)]
    path.write_text(end.join([turned[0], turned[2]]) + end, encoding="utf-8", newline="")
    assert read_table(path, samples="columns", delimiter=sep).samples == tuple(ids)
