"""Edge lists, GraphML, objects and gene sets: small hand-written files, with the quirks that real ones have."""

import gzip
import os
from threading import Thread

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from network_files import edges_of, write
from variegate.data import (
    DataWarning,
    UnreadableInput,
    as_network,
    network_from_edges,
    read_edges,
    read_gene_sets,
    read_graphml,
    read_network,
)

EDGE_FILES = {
    "commas": "source,target\na,b\nb,c\n",
    "tabs, no header": "a\tb\nb\tc\n",
    "spaces": "# comment\na b\n\nb   c\n",
    "semicolons, quotes": '"gene a";"gene b"\n"a";"b"\n"b";"c"\n',
    "weights": "node1\tnode2\tweight\na\tb\t0.5\nb\tc\tx\n",
    "Windows, byte-order mark": "\ufefffrom,to\r\na,b\r\nb,c\r\n",
    "duplicates, directions, self-loops": "a,b\nb,a\nb,c\nc,c\na,b\nb,b\n",
    "comment inside, blanks around": "a , b\n# b,z\n  # x,y\nb, c\n",
    "end of file as in DOS": "a,b\r\nb,c\r\n\x1a",
    "joined files": "source,target\na,b\nsource,target\nb,c\n",
    "quoted comma": 'Gene A,Gene B,note\na,b,"x, y"\nb,c,"z\nnew line"\n',
}


@pytest.mark.parametrize("text", EDGE_FILES.values(), ids=EDGE_FILES)
@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
def test_edge_lists(tmp_path, text, name):
    path = write(tmp_path, name, text)
    assert edges_of(read_edges(path)) == {("a", "b"), ("b", "c")}
    assert as_network(path).names == as_network(str(path)).names == ("a", "b", "c")


def test_edge_list_headers_are_guessed_or_given(tmp_path):
    numbers = write(tmp_path, "n.csv", "entrez_a,entrez_b,n\n1,2,9\n2,3,9\n")
    assert read_edges(numbers).names == ("1", "2", "3")
    odd = write(tmp_path, "o.csv", "left,right\n1,2\n2,3\n")
    assert read_edges(odd).names == ("1", "2", "3")
    words = write(tmp_path, "w.csv", "TP53,MDM2\nTP53,APP\n")
    assert read_edges(words).n_edges == 2
    assert read_edges(words, header=True).n_edges == 1
    wide = write(tmp_path, "x.csv", "id,p,q\n1,a,b\n2,b,c\n")
    assert edges_of(read_edges(wide, columns=["q", "p"])) == {("a", "b"), ("b", "c")}
    assert edges_of(read_edges(wide, columns=[1, 2], header=True)) == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize(
    "text",
    [
        "InteractorA\tInteractorB\na\tb\nb\tc\n",
        "preferredName_A,preferredName_B\na,b\nb,c\n",
        "TF,target\na,b\nb,c\n",
        "left,right,weight\na,b,0.5\nb,c,1e-3\n",
        "left,right,note,weight\na,b,p,\nb,c,q,NA\nb,a,q,7\n",
        '"so\nurce","tar\nget",w\na,b,1\nb,c,2\n',
    ],
)
def test_headers_are_no_edges(tmp_path, text):
    assert edges_of(read_edges(write(tmp_path, "e.csv", text))) == {("a", "b"), ("b", "c")}


def test_genes_that_read_like_headers_are_no_header(tmp_path):
    network = read_edges(write(tmp_path, "e.csv", "ID1,ID2\nTCF3,ID1\n"))
    assert edges_of(network) == {("ID1", "ID2"), ("ID1", "TCF3")}


def test_lines_that_may_be_headers_are_asked_about(tmp_path):
    path = write(tmp_path, "e.csv", "left,right\na,b\nb,c\n")
    with pytest.warns(
        DataWarning, match=r"first line, 'left right', is read as an edge.* header=True if .* header=False"
    ):
        assert read_edges(path).n_edges == 3
    assert (read_edges(path, header=True).n_edges, read_edges(path, header=False).n_edges) == (2, 3)
    for plain in ("a,b\nc,d\n", "a,b\nB,c\n", "a,b\nb,c\nc,d\n", "a,a\nb,c\nc,b\n", "a,b,0.5\nb,c,0.1\n"):
        read_edges(write(tmp_path, "p.csv", plain), ignore_case=True)  # a warning would be an error


def test_a_kind_of_interaction_between_the_names_is_told(tmp_path):
    path = write(tmp_path, "n.sif", "TP53 pp MDM2\nMDM2 pp APP\n")
    with pytest.warns(DataWarning, match=r"every edge leads to 'pp'; .* columns=\[0, 2\]"):
        read_edges(path)
    assert edges_of(read_edges(path, columns=[0, 2])) == {("MDM2", "TP53"), ("APP", "MDM2")}


def test_names_that_differ_in_case_only(tmp_path):
    path = write(tmp_path, "e.csv", "Tp53,MDM2\nTP53,APP\nmdm2,APP\n")
    with pytest.warns(DataWarning, match=r"4 names differ .* \(e.g. Tp53 and TP53\)"):
        assert len(read_edges(path).names) == 5
    assert edges_of(read_edges(path, ignore_case=True)) == {
        ("MDM2", "TP53"),
        ("APP", "TP53"),
        ("APP", "MDM2"),
    }


BAD_FILES = {
    "empty": (b"", "empty"),
    "only comments": (b"# nothing\n  # more\n\n", "only comments"),
    "only a byte-order mark": (b"\xef\xbb\xbf\n", "empty"),
    "web page": (b"<!DOCTYPE HTML><html><body>404 Not Found</body></html>", "web page"),
    "JSON": (b'{"nodes": [1, 2], "edges": [[1, 2]]}', "JSON"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", "git lfs pull"),
    "gzipped twice": (gzip.compress(gzip.compress(b"a,b\n")), "gzip file inside"),
    "UTF-16 without mark": ("source,target\n".encode("utf-16-le"), "UTF-16"),
    "only a header": (b"source,target\n", "nothing below"),
    "one column": (b"abc\ndef\n", "only one: 'abc'"),
    "short line": (b"a,b\nc\n", "row 2"),
    "blank name": (b"a,b\nb,c\n,d\n", "row 3"),
    "binary": (b"a,b\n\x00\x01\x02", "line 2: expected text, got binary"),
    "latin-1": (b"a,b\nc,\xe9\n", "line 2: expected UTF-8"),
    "UTF-16": ("a,b\n".encode("utf-16"), "UTF-16"),
    "zip": (b"PK\x03\x04abcdef", "zip archive"),
    "parquet": (b"PAR1abcdef", "Parquet"),
    "truncated gzip": (gzip.compress(b"a,b\n" * 1000)[:-12], "cut short or damaged"),
    "damaged gzip": (b"\x1f\x8bnonsense", "cut short or damaged"),
    "open quote": (b'a,b\n\nc,d\n"c,d\ne,f\n', "line 4: a quote is opened"),
    "open quote in the first line": (b'a,"b\n' * 3, "line 3: a quote is opened|line 1"),
    "long line": (b'a,b\n"x\ny",b\n\nb,c,d\n', "line 5: expected 2 columns as in the first line, got 3"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_edge_lists_are_named(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(UnreadableInput, match=message) as caught:
        read_network(path)
    assert "bad.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_delimiter_and_columns(tmp_path):
    path = write(tmp_path, "e.tsv", "a\tb\nb\tc\n")
    with pytest.raises(UnreadableInput, match="with the delimiter ',' the first line has one: 'a b'"):
        read_edges(path, delimiter=",")
    with pytest.raises(UnreadableInput, match="expected a column 'x', found"):
        read_edges(path, columns=["x", "b"])
    with pytest.raises(UnreadableInput, match="column number from 0 to 1, got 7"):
        read_edges(path, columns=[0, 7])
    for wrong in ([0], "ab", [0, 0], 5, [True, False], [0.0, 1], [0, [1]]):
        with pytest.raises(ValueError, match=r"columns must be the two columns that hold the ends"):
            read_edges(path, columns=wrong)
    for wrong in ("", "ab", 5):
        with pytest.raises(ValueError, match="delimiter must be one character"):
            read_edges(path, delimiter=wrong)
    with pytest.raises(ValueError, match="header must be True, False or None"):
        read_edges(path, header="yes")
    with pytest.raises(UnreadableInput, match="found none; check the path"):
        read_edges(tmp_path / "absent.csv")
    with pytest.raises(UnreadableInput, match="cannot be opened"):
        read_edges(tmp_path)


def test_graphml_as_networkx_writes_it(tmp_path):
    graph = nx.Graph([("n1", "n2"), ("n2", "n3"), ("n3", "n3")])
    graph.add_node("alone")
    nx.set_node_attributes(graph, {"n1": "TP53", "n2": "MDM2", "n3": "Twin", "alone": "Twin"}, "name")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    network = read_network(tmp_path / "g.graphml")
    assert edges_of(network) == {("n1", "n2"), ("n2", "n3")}
    assert network.names == ("alone", "n1", "n2", "n3")
    assert network.locate(["tp53", "Twin"]).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<graphml><graph><node id='a'/>", "complete XML.*line 1"),
        ("<svg></svg>", "root element svg"),
        ("<html></html>", "a web page, perhaps of a failed download"),
        ("<graphml/>", "expected nodes, got none"),
        ("<graphml><node id='c'/><edge source='a' target='b'/></graphml>", "got 'a', which is not a node"),
        ("<graphml><node/></graphml>", "attribute 'id' on every node"),
        ("<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y 'z'>]><graphml/>", "document type"),
    ],
)
def test_bad_graphml(tmp_path, text, message):
    with pytest.raises(UnreadableInput, match=f"g.graphml.*{message}"):
        read_graphml(write(tmp_path, "g.graphml", text))


def test_networks_from_objects():
    graph = nx.DiGraph([(1, 2), (2, 1), (2, 2), (3, 1)])
    assert edges_of(as_network(graph)) == {("1", "2"), ("1", "3")}
    matrix = np.array([[5.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for form in (matrix, sparse.coo_array(matrix), sparse.csc_matrix(matrix)):
        assert edges_of(as_network(form)) == {("0", "2")}
    network = network_from_edges(["a"], ["b"])
    assert as_network(network) is network
    with pytest.raises(ValueError, match="square"):
        as_network(np.ones((2, 3)))
    for form in (np.full((2, 2), np.nan), sparse.csr_array(np.full((2, 2), np.inf))):
        with pytest.raises(ValueError, match="must be finite, got missing or infinite values; write 0 for no edge"):
            as_network(form)
    with pytest.raises(ValueError, match="must hold numbers, got <U1"):
        as_network(np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(ValueError, match="different names"):
        as_network(nx.Graph([(1, "1")]))


def test_the_order_of_edges_makes_no_difference():
    one = network_from_edges(["b", "a", "c"], ["c", "b", "c"])
    two = network_from_edges(["c", "c", "b"], ["c", "b", "a"])
    assert one.names == two.names
    assert (one.adjacency != two.adjacency).nnz == 0


def test_gene_sets(tmp_path):
    path = write(tmp_path, "s.gmt.gz", "# c\nREPAIR\tx\tTP53\tNA\tTP53\t\r\nGROWTH\t\tEGFR\n\n")
    assert read_gene_sets(path) == {"REPAIR": ("TP53", "NA"), "GROWTH": ("EGFR",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\tx\n", "line 1: expected a set's name"),
        ("A\tx\tg\nA\tx\th\n", "line 2: the set 'A' appears twice"),
        ("A,x,g\n", "separated by tabs"),
        ("#\n", "only comments"),
    ],
)
def test_bad_gene_sets(tmp_path, text, message):
    with pytest.raises(UnreadableInput, match=f"s.gmt.*{message}"):
        read_gene_sets(write(tmp_path, "s.gmt", text))


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_text, args=("a,b\nb,c\n",))
    writer.start()
    assert read_network(path).n_edges == 2
    writer.join()
