"""The paper's figure 1: a group of three items that become alike counts as one in the limit."""

import numpy as np
from matplotlib import pyplot as plt

ratio = np.logspace(0, 3, 40)
together = 1 / 2 + 1 / (1 + ratio)  # the sum of λ / (1 + λ) over the eigenvalues 1 and 1 / ratio of the three
single = np.full(40, 1 / 2)  # its eigenvalue is 1
fig, ax = plt.subplots(figsize=(5.4, 2.8))
ax.plot(ratio, together, color="#009E73", lw=2, label="three items that grow alike, together")
ax.plot(ratio, single, color="#555555", lw=2, ls="--", label="a single item")
ax.set(
    xscale="log",
    xlabel="condition number of the three: copies to the right",
    ylabel="expected number drawn",
    ylim=(0, 1.1),
)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
