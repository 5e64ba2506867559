"""A network: node names, aliases, and a sparse adjacency matrix."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse


@dataclass(frozen=True)
class Network:
    """An undirected network without self-loops, each edge once.

    names : the nodes
    adjacency : symmetric sparse 0/1 matrix in CSR form, shape (n, n)
    aliases : other names (synonyms, numeric ids) → the node's name; ambiguous ones are left out

    >>> network = network_from_edges(["a", "b", "b"], ["b", "a", "b"])
    >>> network.names, network.n_edges, network.degrees.tolist()
    (('a', 'b'), 1, [1, 1])
    """

    names: tuple[str, ...]
    adjacency: Any
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return int(self.adjacency.nnz) // 2

    @property
    def degrees(self) -> npt.NDArray[np.intp]:
        """The number of neighbours of each node, shape (n,)."""
        return np.diff(self.adjacency.indptr).astype(np.intp)  # type: ignore[no-any-return]

    def with_aliases(self, aliases: Mapping[str, str]) -> Network:
        """Return the network with further aliases, which override the present ones.

        For features named by symbol in a network of ids: `network.with_aliases({"TP53": "7157"})`.
        Entries that do not name a node are left out.
        """
        known = set(self.names)
        more = {str(alias): str(name) for alias, name in aliases.items() if str(name) in known}
        return replace(self, aliases={**self.aliases, **more})

    def locate(self, features: Iterable[object]) -> npt.NDArray[np.intp]:
        """Return the node of each feature, −1 for those that are not in the network, shape (M,).

        A feature is looked up among the names, then among the aliases, then in both ignoring case, if that is
        unambiguous.
        """
        return locate_names(features, self.names, self.aliases)


def locate_names(
    features: Iterable[object], names: Sequence[str], aliases: Mapping[str, str] | None = None
) -> npt.NDArray[np.intp]:
    """Return the position of each feature among the names, −1 if it is not there; see `Network.locate`."""
    exact = {name: i for i, name in enumerate(names)}
    other = {alias: exact[name] for alias, name in (aliases or {}).items()}
    lookups = [exact, other, _ignoring_case(exact), _ignoring_case(other)]

    def position(name: str) -> int:
        spellings = [name, name, name.casefold(), name.casefold()]
        hits = [lookup[s] for lookup, s in zip(lookups, spellings, strict=True) if s in lookup]
        return hits[0] if hits else -1

    return np.array([position(str(feature)) for feature in features], dtype=np.intp)


def network_from_edges(
    sources: Sequence[str] | npt.NDArray[Any],
    targets: Sequence[str] | npt.NDArray[Any],
    aliases: Mapping[str, str] | None = None,
) -> Network:
    """Return the network of an edge list: directions and duplicates merged, self-loops dropped.

    Nodes are sorted by name, so the order of the edges does not matter. A node with only a self-loop is kept,
    without neighbours.

    >>> network_from_edges(["TP53", "MDM2"], ["MDM2", "TP53"]).n_edges
    1
    """
    ends = np.concatenate([np.asarray(sources, dtype=object), np.asarray(targets, dtype=object)])
    codes, names = pd.factorize(ends, sort=True)
    a, b = codes.reshape(2, -1)
    known = set(names)
    kept = {alias: name for alias, name in (aliases or {}).items() if name in known}
    return Network(tuple(names), symmetric_adjacency(a, b, len(names)), kept)


def symmetric_adjacency(rows: npt.NDArray[Any], cols: npt.NDArray[Any], n: int) -> Any:
    """Return the 0/1 matrix with (i, j) and (j, i) for each pair i ≠ j, shape (n, n)."""
    different = rows != cols
    i, j = np.concatenate([[rows, cols], [cols, rows]], axis=1)[:, np.tile(different, 2)]
    matrix = sparse.csr_array((np.ones(len(i), dtype=np.int32), (i, j)), shape=(n, n))
    matrix.sum_duplicates()
    matrix.data = np.ones(len(matrix.data), dtype=np.float32)
    return matrix


def as_network(graph: Any) -> Network:
    """Convert a file, a networkx graph, or a square (sparse) matrix to a Network; return a Network unchanged.

    In a matrix every non-zero entry is an edge, and node i is called "i"; edge weights are ignored.

    >>> as_network(np.array([[0, 1], [1, 0]])).names
    ('0', '1')
    """
    if isinstance(graph, Network):
        return graph
    if isinstance(graph, str | Path):
        from .read_network import read_network

        return read_network(graph)
    networkx = sys.modules.get("networkx")  # if it is not imported, this is not a networkx graph
    if networkx is not None and isinstance(graph, networkx.Graph):
        return _from_networkx(graph)
    if sparse.issparse(graph) or isinstance(graph, np.ndarray):
        return _from_matrix(graph)
    raise TypeError(
        "the network must be a file, a variegate Network, a networkx graph or a (sparse) matrix, got "
        f"{type(graph).__name__}"
    )


def _from_networkx(graph: Any) -> Network:
    names = [str(node) for node in graph.nodes]
    if len(set(names)) < len(names):
        raise ValueError("nodes must have different names, got two that are the same as text")
    number = {node: i for i, node in enumerate(graph.nodes)}
    pairs = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.intp).reshape(-1, 2)
    return Network(tuple(names), symmetric_adjacency(pairs[:, 0], pairs[:, 1], len(names)))


def _from_matrix(matrix: Any) -> Network:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"the adjacency matrix must be square, got shape {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"the adjacency matrix must hold numbers, got {matrix.dtype}")
    entries = sparse.coo_array(matrix)
    if not np.isfinite(entries.data).all():
        raise ValueError("the adjacency matrix must be finite, got missing or infinite values; write 0 for no edge")
    keep = entries.data != 0
    names = tuple(map(str, range(matrix.shape[0])))
    return Network(names, symmetric_adjacency(entries.row[keep], entries.col[keep], len(names)))


def _ignoring_case(nodes: Mapping[str, int]) -> dict[str, int]:
    """Return casefolded name → node, −1 if it could be several nodes."""
    found: dict[str, int] = {}
    for name, node in nodes.items():
        key = name.casefold()
        found[key] = node if found.get(key, node) == node else -1
    return found


def unambiguous(pairs: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Return alias → node for the aliases that belong to one node only, without blanks."""
    found: dict[str, str] = {}
    shared = set()
    for alias, node in pairs:
        if alias not in ("", "-") and found.setdefault(alias, node) != node:
            shared.add(alias)
    return {alias: node for alias, node in found.items() if alias not in shared}


def one_spelling(names: pd.Series) -> pd.Series:
    """Return the names, with those that differ only in case written in their most common spelling."""
    counts = names.value_counts()
    spelling: dict[str, str] = {}
    for name in sorted(counts.index, key=lambda name: (-counts[name], name)):
        spelling.setdefault(name.casefold(), name)
    return names.str.casefold().map(spelling)
