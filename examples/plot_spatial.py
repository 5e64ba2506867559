"""
Where to put basis functions
============================

A field is measured at sixty places, with noise, and is approximated by eight bumps on a 7×7 grid. Bumps that overlap
are alike, so a diverse set spreads over the area. This has a cost here: refitted by least squares, the Lasso's crowded
bumps predict new places a little better. Averaging over sets, as `score` does, compensates for it.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import LinearRegression

import variegate as vg
from variegate.baselines import Problem, select

data = vg.datasets.make_spatial_field(60, grid=7, widths=(0.3,), n_true=5, snr=3, n_test=300, rng=1)
phi = vg.similarity.from_coordinates(data.centres, widths=data.widths)
model = vg.DiverseRegressor(similarity=phi, n_features_to_select=8, random_state=0).fit(data.X, data.y)
sets = {
    "variegate": np.flatnonzero(model.support_),
    "Lasso": select("lasso", Problem(data.X, data.y, "regression"), 8, np.random.default_rng(0)),
}
for name, S in sets.items():
    spread = vg.metrics.mean_pairwise_distance(data.centres, S)
    refitted = LinearRegression().fit(data.X[:, S], data.y).score(data.X_test[:, S], data.y_test)
    print(f"{name}: log det {vg.metrics.log_det(phi, S):.1f}, mean distance {spread:.2f}, R² {refitted:.2f}")
print(f"variegate, averaged over sets: R² {model.score(data.X_test, data.y_test):.2f}")

# %%
# Circles are the chosen bumps, half as wide as they are; the colours are the field as it is.

ticks = np.linspace(0, 1, 60)
plane = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
field = vg.datasets.gaussian_bumps(plane, data.centres, data.widths) @ data.coef
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.6), layout="constrained")
for ax, (name, S) in zip(axes, sets.items(), strict=True):
    ax.imshow(field.reshape(60, 60), origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r", alpha=0.8)
    for m in S:
        ax.add_patch(plt.Circle(data.centres[m], data.widths[m] / 2, fill=False, lw=1.5))
    ax.plot(*data.centres[S].T, "k+")
    ax.set(title=name, xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
