"""Thirty of four hundred points: independent draws, and draws of a DPP."""

import numpy as np
from matplotlib import pyplot as plt

import variegate as vg

rng = np.random.default_rng(4)
points = rng.random((400, 2))
phi = vg.similarity.from_coordinates(points, bandwidth=0.15)
dpp = vg.LowRankDPP(phi, theta=np.zeros(400)).rescaled(expected_size=30)
sets = {"independent": rng.choice(400, 30, replace=False), "DPP": dpp.sample_fixed_size(30, 1, rng)[0]}

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.3))
for ax, (name, S) in zip(axes, sets.items(), strict=True):
    ax.plot(*points.T, ".", color="#cccccc", ms=3)
    ax.plot(*points[S].T, "o", color="#009E73" if name == "DPP" else "#555555", ms=6)
    ax.set(title=f"{name}: log det {vg.metrics.log_det(phi, S):.0f}", xticks=[], yticks=[], aspect="equal")
