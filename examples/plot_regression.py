"""
Regression among near-copies
============================

Forty columns in eight blocks; within a block columns correlate with r = 0.95. One column in each of four blocks
matters. The Lasso, with the same number of columns, takes two of one block and misses another; a diverse set takes
one of each.
"""

import numpy as np
from matplotlib import pyplot as plt

import variegate as vg
from variegate.baselines import Problem, select

data = vg.datasets.make_blocks(100, 40, block_size=5, correlation=0.95, n_true=4, n_test=500, rng=1)
model = vg.DiverseRegressor(random_state=0).fit(data.X, data.y)
ours = np.flatnonzero(model.support_)
lasso = select("lasso", Problem(data.X, data.y, "regression"), len(ours), np.random.default_rng(0))

print("true blocks:     ", sorted(data.groups[data.truth].tolist()))
print(
    "variegate, blocks:",
    sorted(data.groups[ours].tolist()),
    f"R² on new rows {model.score(data.X_test, data.y_test):.2f}",
)
print("Lasso, blocks:   ", sorted(data.groups[lasso].tolist()))

# %%
# Inclusion probabilities show how certain that is, and which columns could replace each other.

p = model.posterior_.inclusion_prob()
fig, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
ax.bar(range(40), p, color=np.where(np.isin(range(40), data.truth), "#009E73", "#9A9A9A"))
for edge in range(5, 40, 5):
    ax.axvline(edge - 0.5, color="#dddddd", lw=1, zorder=0)
ax.plot(lasso, np.full(len(lasso), 1.05), "v", color="black", ms=5, label="Lasso")
ax.plot(ours, np.full(len(ours), 1.14), "v", color="#009E73", ms=5, label="variegate")
ax.set(xlabel="column (lines: blocks; green: true)", ylabel="inclusion probability", ylim=(0, 1.25))
ax.legend(frameon=False, ncols=2, loc="upper right", bbox_to_anchor=(1, 1.2))
