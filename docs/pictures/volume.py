"""Two directions, and the volume that they span."""

import numpy as np
from matplotlib import pyplot as plt

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(8, 2.6), width_ratios=[1, 1, 1.4])
for ax, angle, title in ((left, 75, "unlike"), (middle, 15, "alike")):
    a, b = np.array([1.0, 0.0]), np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    ax.fill(*np.array([[0, 0], a, a + b, b]).T, color="#009E73", alpha=0.3, lw=0)
    for v in (a, b):
        ax.annotate("", v, (0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2, "color": "black"})
    ax.set(
        xlim=(-0.1, 2.05),
        ylim=(-0.15, 1.1),
        aspect="equal",
        title=f"{title}: squared area {np.linalg.det([a, b]) ** 2:.2f}",
    )
    ax.axis("off")
similarity = np.linspace(0, 1, 100)
right.plot(similarity, 1 - similarity**2, color="#009E73", lw=2)
right.set(xlabel="similarity of two items", ylabel="squared volume", ylim=(0, 1.05))
right.spines[["top", "right"]].set_visible(False)
