"""A network's hubs, and the distances to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from ..data import Network
from .features import Array

_WORD = 64  # searches that run together, one per bit of an integer
_MOST_LEVELS = 64  # for longer paths, separate searches are cheaper


def choose_hubs(network: Network, hubs: int | Sequence[str], min_degree: int | None = None) -> Array:
    """Return the node numbers of the hubs, best connected first."""
    if min_degree is not None:
        if isinstance(min_degree, bool) or not isinstance(min_degree, int | float | np.integer | np.floating):
            raise ValueError(f"min_degree must be a number of neighbours, got {min_degree!r}")
        found = np.flatnonzero(network.degrees > min_degree)
        if not len(found):
            most = int(network.degrees.max(initial=0))
            raise ValueError(
                f"min_degree must be below {most}, the largest number of neighbours, got {min_degree}; lower it"
            )
        return found[np.argsort(-network.degrees[found], kind="stable")]
    if isinstance(hubs, bool | str) or not isinstance(hubs, int | np.integer | Iterable):
        raise ValueError(f"hubs must be a whole number or a list of names, got {hubs!r}")
    if isinstance(hubs, int | np.integer):
        if hubs < 1:
            raise ValueError(f"hubs must be at least 1, got {hubs}")
        return np.argsort(-network.degrees, kind="stable")[:hubs]
    names = list(hubs)
    found = network.locate(names)
    if not len(found) or (found < 0).any():
        missing = [str(h) for h, node in zip(names, found, strict=True) if node < 0]
        raise ValueError(f"hubs must be nodes of the network, got {missing[:3] or 'an empty list'}")
    return found


def hub_distances(network: Network, hubs: Array, nodes: Array) -> Array:
    """Return the number of steps from each node to each hub, shape (nodes, hubs).

    An unreachable hub counts as one step more than the largest finite distance of these nodes.
    """
    profiles = np.empty((len(nodes), len(hubs)))
    for start in range(0, len(hubs), _WORD):
        some = hubs[start : start + _WORD]
        profiles[:, start : start + len(some)] = breadth_first_steps(network.adjacency, some)[nodes]
    finite = np.isfinite(profiles)
    profiles[~finite] = (profiles[finite].max() if finite.any() else 0.0) + 1.0
    return profiles


def breadth_first_steps(adjacency: Any, sources: Array) -> Array:
    """Return the steps from up to 64 sources to every node, inf if there is no path, shape (n, sources).

    All sources at once: bit s of a node's integer says that source s has reached it, and one level of all
    searches is the bitwise or over each node's neighbours. Measured with 300 hubs, 20,000 nodes and 600,000
    edges: 0.3 s, against 3.4 s for scipy's dijkstra, which is used if paths are long.
    """
    n, bit = adjacency.shape[0], np.arange(len(sources), dtype=np.uint64)
    reached = np.zeros(n, dtype=np.uint64)
    np.bitwise_or.at(reached, sources, np.uint64(1) << bit)
    steps = np.full((n, len(sources)), np.inf)
    steps[sources, np.arange(len(sources))] = 0
    linked = np.flatnonzero(np.diff(adjacency.indptr))
    for level in range(1, _MOST_LEVELS + 1):
        if not len(linked):
            return steps
        now = reached.copy()
        now[linked] |= np.bitwise_or.reduceat(reached[adjacency.indices], adjacency.indptr[linked])
        fresh = np.flatnonzero(now != reached)
        if not len(fresh):
            return steps
        bits = ((now[fresh] & ~reached[fresh])[:, None] >> bit) & np.uint64(1)
        rows, columns = np.nonzero(bits)
        steps[fresh[rows], columns] = level
        reached = now
    return _one_by_one(adjacency, sources)


def _one_by_one(adjacency: Any, sources: Array) -> Array:
    """Return the steps from each source by scipy, which needs 32-bit indices before version 1.15."""
    parts = adjacency.data, adjacency.indices.astype(np.int32), adjacency.indptr.astype(np.int32)
    narrow = sparse.csr_array(parts, shape=adjacency.shape)
    return np.asarray(dijkstra(narrow, directed=True, indices=sources, unweighted=True).T)
