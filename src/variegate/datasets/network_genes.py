"""Gene expression on a scale-free network of modules, with one true gene in some of them."""

from __future__ import annotations

import numpy as np

from ..checks import generator
from ..data import Network, network_from_edges
from .blocks import draw_blocks, one_per_block
from .simulation import Array, Simulation, check_task, draw_outcome, random_coefficients


def make_network_genes(
    n_samples: int = 300,
    n_genes: int = 1000,
    *,
    n_modules: int = 25,
    n_true: int = 10,
    correlation: float = 0.5,
    task: str = "classification",
    snr: float = 3.0,
    rng: np.random.Generator | int | None = None,
) -> Simulation:
    """Simulate gene expression and a network whose modules are gene functions.

    The network grows by preferential attachment: each gene is linked to three others, nine times in ten of its own
    module, so there are hubs and communities. Expression within a module has correlation `correlation`; if it is
    low, the network says more than the data about which genes have the same function. One gene in each of `n_true`
    modules matters.

    >>> data = make_network_genes(20, 100, n_modules=5, n_true=2)
    >>> data.X.shape, data.graph.names[:3], sorted(set(data.y.tolist()))
    ((20, 100), ('G00', 'G01', 'G02'), [0, 1])
    """
    check_task(task, snr)
    if not 1 <= n_true <= n_modules or n_genes < 4 * n_modules:
        raise ValueError(
            f"n_true must be from 1 to n_modules, and n_genes at least 4 per module, got {n_true} true genes, "
            f"{n_modules} modules and {n_genes} genes"
        )
    rng = generator(rng)
    groups = np.arange(n_genes) % n_modules
    names = tuple(f"G{m:0{len(str(n_genes - 1))}d}" for m in range(n_genes))
    graph = _grow(names, groups, rng)
    truth = one_per_block(groups, n_true, rng)
    coef = random_coefficients(n_genes, truth, rng)
    X = draw_blocks(n_samples, groups, correlation, rng)
    y = draw_outcome(X[:, truth] @ coef[truth], float(np.sqrt(n_true / snr)), task, rng)
    return Simulation(X, y, truth, coef, groups, names, X[:0], y[:0], graph=graph)


def _grow(names: tuple[str, ...], groups: Array, rng: np.random.Generator) -> Network:
    """Link each gene to three earlier ones, drawn in proportion to how often they were drawn before."""
    n_modules = int(groups.max()) + 1
    urns: list[list[int]] = [[] for _ in range(n_modules)]
    everyone: list[int] = []
    edges: list[tuple[int, int]] = []
    for gene, module in enumerate(groups):
        for _ in range(3):
            urn = urns[module] if urns[module] and rng.random() < 0.9 else everyone
            if urn:
                other = urn[rng.integers(len(urn))]
                edges.append((gene, other))
                urns[groups[other]].append(other)
                everyone.append(other)
        urns[module].append(gene)
        everyone.append(gene)
    return network_from_edges([names[a] for a, _ in edges], [names[b] for _, b in edges])
