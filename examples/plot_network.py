"""
Genes on a network
==================

Sixty genes in six modules of a network. Expression correlates only weakly within a module, so the columns say little
about which genes are related; the network does. Similarity comes from distances to its hubs. The data are few (sixty
samples) and noisy: if they do not determine the choice, similarity does. With more data both similarities would lead
to the same genes, as they do here for some seeds; this seed shows the difference.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import variegate as vg

data = vg.datasets.make_network_genes(
    60, 60, n_modules=6, n_true=4, correlation=0.3, task="regression", snr=0.7, rng=3
)
X = pd.DataFrame(data.X, columns=data.features)
phi = vg.similarity.from_network(data.graph, X.columns)

sets = {}
for name, similarity in {"network": phi, "columns": "columns"}.items():
    model = vg.DiverseRegressor(similarity=similarity, n_features_to_select=8, random_state=0).fit(X, data.y)
    sets[name] = np.flatnonzero(model.support_)
for name, S in sets.items():
    print(
        f"{name}: modules {sorted(data.groups[S].tolist())}, log det of the network {vg.metrics.log_det(phi, S):.1f}"
    )
print("true modules:", sorted(data.groups[data.truth].tolist()))

# %%
# The network, laid out by its own similarity (two leading directions of Φ); chosen genes are filled.

centred = phi - phi.mean(axis=0)
place = np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
a, b = data.graph.adjacency.nonzero()
node = data.graph.locate(data.features)
at = np.empty((len(data.graph.names), 2))
at[node] = place
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, (name, S) in zip(axes, sets.items(), strict=True):
    ax.plot(*np.stack([at[a], at[b]]).transpose(2, 0, 1), color="#dddddd", lw=0.5, zorder=0)
    ax.scatter(*place.T, c=data.groups, cmap="Set2", s=18, alpha=0.7)
    ax.scatter(*place[S].T, c=data.groups[S], cmap="Set2", s=90, edgecolor="black", vmin=0, vmax=5)
    ax.set(title=f"similarity from the {name}", xticks=[], yticks=[])
