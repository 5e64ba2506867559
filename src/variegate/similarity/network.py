"""Similarity from a network: features with similar distances to the hubs are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import generator
from ..data import Network, as_network
from .distances import Bandwidth, RadialKernel, radial_kernel
from .factorise import check_rank, factorise_known, feature_names, warn_unknown
from .features import Array, SimilarityFeatures
from .hubs import choose_hubs, hub_distances


def from_network(
    graph: Any,
    features: Sequence[object],
    hubs: int | Sequence[str] = 300,
    bandwidth: Bandwidth = "mean",
    rank: int | None = 300,
    *,
    min_degree: int | None = None,
    tol: float = 1e-6,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ of features that are nodes of a network: K_ij = exp(−‖f_i − f_j‖² / σ²).

    f_i holds the shortest-path distances of node i to the hubs, the nodes with the most neighbours; an unreachable
    hub counts as one step more than the largest finite distance.  Paper: section 5.1.

    Parameters
    ----------
    graph : a file (see `variegate.data.read_network`), a `Network`, a networkx graph or a sparse matrix
    features : the M names or aliases, in the order of the data's columns, in any case (`Network.locate`)
    hubs : how many (ties by name), or their names
    bandwidth : σ: "mean" (the paper's rule) or "median" distance between profiles, a number or several
    rank, tol : number of columns of Φ: at most `rank` (None: 1,000), fewer if they reach the trace error `tol`
    min_degree : instead of `hubs`: all nodes with more neighbours than this (the paper: 100)
    rng : generator or seed; None is seed 0

    Features that are not in the network are similar to no other, as far as the rank allows, and a warning counts
    them: up to rank/4 of them get one column each and are exactly orthogonal to the rest; more get random
    directions, with similarities of about ±1/√rank.

    >>> path = np.diag(np.ones(4), 1)  # 0 - 1 - 2 - 3 - 4
    >>> phi = from_network(path, [0, 1, 4], hubs=["2"], bandwidth=1.0)
    >>> np.asarray(phi @ phi.T).round(2)  # both ends are two steps from the hub
    array([[1.  , 0.37, 1.  ],
           [0.37, 1.  , 0.37],
           [1.  , 0.37, 1.  ]])
    """
    check_rank(rank)
    generator_ = generator(rng)
    network = as_network(graph)
    names = feature_names(features)
    nodes = network.locate(names)
    known = nodes >= 0
    _check_known(known, names, network)
    warn_unknown(known, names, "are not in the network")
    profiles = hub_distances(network, choose_hubs(network, hubs, min_degree), nodes[known])
    kernel = radial_kernel(profiles, bandwidth, generator_)
    return factorise_known(kernel, known, rank, tol, generator_).named(names)


def network_kernel(
    graph: Any,
    features: Sequence[object],
    hubs: int | Sequence[str] = 300,
    bandwidth: Bandwidth = "mean",
    *,
    min_degree: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> RadialKernel:
    """Return the kernel that `from_network` factorises; its blocks are computed on demand.

    Use it to measure the diversity of sets: in a truncated factor with rescaled rows, features look more similar than
    they are. All features must be in the network.

    >>> path = np.diag(np.ones(4), 1)  # 0 - 1 - 2 - 3 - 4
    >>> kernel = network_kernel(path, [0, 1, 4], hubs=["2"], bandwidth=1.0)
    >>> kernel.block(np.array([0]), np.arange(3)).round(2)
    array([[1.  , 0.37, 1.  ]])
    """
    network = as_network(graph)
    names = feature_names(features)
    nodes = network.locate(names)
    if (nodes < 0).any():
        first = names[int(np.flatnonzero(nodes < 0)[0])]
        raise ValueError(f"features must be nodes of the network, got {first!r}, which is not one; leave it out")
    profiles = hub_distances(network, choose_hubs(network, hubs, min_degree), nodes)
    return radial_kernel(profiles, bandwidth, generator(rng))


def _check_known(known: Array, names: list[str], network: Network) -> None:
    if not known.any():
        kind = f"the first feature is '{names[0]}'" if names else "there are no features"
        node = f"a node is called '{network.names[0]}'" if network.names else "the network is empty"
        raise ValueError(
            f"features must be nodes of the network, but none of the {len(names)} is: {kind}, {node}; "
            "use the same kind of names in both"
        )
