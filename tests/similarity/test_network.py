"""Hub profiles against breadth-first search by hand."""

from collections import deque

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from variegate import similarity
from variegate.data import Network, network_from_edges
from variegate.similarity import SimilarityWarning
from variegate.similarity.hubs import breadth_first_steps, choose_hubs, hub_distances

EDGES = [("a", "b"), ("b", "c"), ("b", "d"), ("d", "e"), ("x", "y"), ("e", "b"), ("C", "d")]
SMALL = network_from_edges([a for a, _ in EDGES], [b for _, b in EDGES], aliases={"beta": "b", "17": "e"})


def breadth_first(graph, start):
    """Steps from start to every node that can be reached."""
    steps, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for neighbour in graph[node]:
            if neighbour not in steps:
                steps[neighbour] = steps[node] + 1
                queue.append(neighbour)
    return steps


def all_steps(graph, sources):
    """Steps (nodes, sources), inf if there is no path."""
    found = [breadth_first(graph, source) for source in sources]
    return np.array([[steps.get(node, np.inf) for steps in found] for node in graph.nodes])


def test_distances_are_breadth_first_and_unreachable_is_one_further():
    graph = nx.gnm_random_graph(60, 55, seed=1)
    network = Network(tuple(map(str, graph.nodes)), sparse.csr_array(nx.to_scipy_sparse_array(graph)))
    hubs = np.arange(0, 60, 7)
    expected = all_steps(graph, hubs)
    assert np.isinf(expected).any()
    expected[np.isinf(expected)] = expected[np.isfinite(expected)].max() + 1
    np.testing.assert_array_equal(hub_distances(network, hubs, np.arange(60)), expected)


@pytest.mark.parametrize("length", [5, 64, 65, 66, 300])
def test_long_paths_and_many_sources(length):
    path = nx.path_graph(length)
    path.add_node("alone")
    adjacency = sparse.csr_array(nx.to_scipy_sparse_array(path))
    sources = np.unique(np.linspace(0, length, min(length, 64)).astype(int))
    nodes = list(path.nodes)
    expected = all_steps(path, [nodes[s] for s in sources])
    np.testing.assert_array_equal(breadth_first_steps(adjacency, sources), expected)


def test_a_network_without_edges():
    adjacency = sparse.csr_array((4, 4))
    expected = np.full((4, 2), np.inf)
    expected[[1, 3], [0, 1]] = 0
    np.testing.assert_array_equal(breadth_first_steps(adjacency, np.array([1, 3])), expected)


def test_more_hubs_than_one_word_holds():
    graph = nx.gnm_random_graph(200, 500, seed=9)
    network = Network(tuple(map(str, graph.nodes)), sparse.csr_array(nx.to_scipy_sparse_array(graph)))
    expected = all_steps(graph, range(150))
    expected[np.isinf(expected)] = expected[np.isfinite(expected)].max() + 1
    np.testing.assert_array_equal(hub_distances(network, np.arange(150), np.arange(200)), expected)


def test_the_kernel_is_the_papers():
    graph = nx.barabasi_albert_graph(80, 2, seed=2)
    hubs = sorted(graph, key=lambda v: (-graph.degree[v], v))[:12]
    F = all_steps(graph, hubs)
    D = squareform(pdist(F))
    K = np.exp(-(D**2) / pdist(F).mean() ** 2)
    phi = similarity.from_network(graph, list(graph.nodes), hubs=12, rank=80)
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-5)
    assert phi.names == tuple(map(str, graph.nodes))


def test_hubs_by_number_by_degree_and_by_name():
    names = lambda found: [SMALL.names[i] for i in found]  # noqa: E731
    assert names(choose_hubs(SMALL, 2)) == ["b", "d"]
    assert names(choose_hubs(SMALL, 300, min_degree=2)) == ["b", "d"]
    assert names(choose_hubs(SMALL, ["x", "beta"])) == ["x", "b"]
    assert names(choose_hubs(SMALL, iter(["x"]))) == ["x"]
    for wrong in ({"hubs": 0}, {"hubs": ["nobody"]}, {"hubs": []}, {"hubs": 1, "min_degree": 9}):
        with pytest.raises(ValueError, match="must be"):
            choose_hubs(SMALL, **wrong)


@pytest.mark.parametrize("wrong", ["12", "b", True, 2.0, None, np.float64(3)])
def test_hubs_that_are_no_number_and_no_list(wrong):
    with pytest.raises(ValueError, match="hubs must be a whole number or a list of names"):
        similarity.from_network(SMALL, ["a", "b"], hubs=wrong)


@pytest.mark.parametrize("wrong", ["100", True, [3], float("nan")])
def test_degrees_that_are_no_number(wrong):
    with pytest.raises(ValueError, match="must be"):
        similarity.from_network(SMALL, ["a", "b"], min_degree=wrong)


def test_features_are_found_by_name_alias_and_case():
    found = SMALL.locate(["a", "A", "c", "C", "BETA", 17, "nobody", "X"])
    assert [SMALL.names[i] if i >= 0 else None for i in found] == ["a", "a", "c", "C", "b", "e", None, "x"]
    both = network_from_edges(["gene", "GENE"], ["q", "q"])
    assert both.locate(["Gene"]).tolist() == [-1]  # could mean either


def test_few_unknown_features_are_orthogonal_to_everything():
    graph = nx.barabasi_albert_graph(60, 2, seed=3)
    features = [*range(20), "p", *range(20, 60), "q"]
    with pytest.warns(SimilarityWarning, match=r"2 of 62 features are not in the network \(e.g. p\)"):
        phi = similarity.from_network(graph, features, hubs=10, rank=20)
    K = np.asarray(phi @ phi.T)
    assert phi.shape[1] <= 20
    np.testing.assert_allclose(K[[20, 61]], np.eye(62)[[20, 61]], atol=1e-12)


def test_many_unknown_features_are_similar_to_none_as_far_as_the_rank_allows():
    graph = nx.barabasi_albert_graph(60, 2, seed=3)
    with pytest.warns(SimilarityWarning, match="500 of 560"):
        phi = similarity.from_network(graph, range(560), hubs=40, rank=40)
    off = np.asarray(phi @ phi.T)[60:]
    assert np.abs(off[:, :60]).mean() < 1.5 / np.sqrt(phi.shape[1])
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), 1)


def test_unknown_features_do_not_depend_on_how_simple_the_network_is():
    """Three known nodes need three columns; two unknown features still get one each, 200 still get the rank."""
    with pytest.warns(SimilarityWarning, match="2 of 5"):
        phi = similarity.from_network(SMALL, ["a", "p", "d", "q", "x"], hubs=3, rank=50)
    np.testing.assert_allclose((phi @ phi.T)[[1, 3]], np.eye(5)[[1, 3]], atol=1e-12)
    with pytest.warns(SimilarityWarning, match="200 of 203"):
        phi = similarity.from_network(SMALL, ["a", "d", "x", *range(100, 300)], hubs=3, rank=50)
    assert phi.shape == (203, 50)
    assert np.asarray(phi @ phi.T)[3:, :3].std() < 0.2


def test_no_feature_in_the_network_is_an_error_that_shows_both_kinds_of_names():
    with pytest.raises(ValueError, match="first feature is 'TP53', a node is called 'C'"):
        similarity.from_network(SMALL, ["TP53", "EGFR"])
    with pytest.raises(TypeError, match="the network must be"):
        similarity.from_network(42, ["a"])


def test_networkx_sparse_and_dense_agree():
    graph = nx.gnm_random_graph(30, 60, seed=5)
    matrix = nx.to_scipy_sparse_array(graph)
    forms = [graph, graph.to_directed(), matrix, sparse.triu(matrix), matrix.toarray()]
    phis = [similarity.from_network(form, range(30), hubs=5) for form in forms]
    for phi in phis[1:]:
        np.testing.assert_array_equal(phi, phis[0])
