"""
Fine-mapping
============

Genetic variants come in blocks of linkage; many are statistically the same. Which of sixty variants affect a trait?
Two do. The right answer is not two names, but two groups of variants with their probabilities.
"""

import numpy as np
from matplotlib import pyplot as plt

import variegate as vg

rng = np.random.default_rng(6)
N, M = 150, 60


def haplotypes(n):
    """Sequences of 0 and 1 in which neighbours are mostly equal, except at three positions."""
    switch = np.full(M, 0.01)
    switch[[15, 30, 45]] = 0.5
    start = rng.random((n, 1)) < 0.4
    return (start + (rng.random((n, M)) < switch).cumsum(axis=1)) % 2


X = haplotypes(N) + haplotypes(N)  # 0, 1 or 2 copies of an allele
truth = [7, 38]
trait = 0.5 * X[:, 7] - 0.5 * X[:, 38] + rng.normal(size=N)

# few causal variants are expected, and that is knowledge: with the size averaged over, every variant would keep a few
# per cent
model = vg.DiverseRegressor(expected_size=2, random_state=0).fit(X, trait)
print("chosen:", np.flatnonzero(model.support_), "true:", truth)

# %%
# Inclusion probabilities: near-copies of a true variant share its probability. The sum over a stretch of the
# chromosome says whether there is an effect in it.

p = model.posterior_.inclusion_prob()
print("sum within 7 variants of the true ones:", [round(float(p[t - 7 : t + 8].sum()), 2) for t in truth])
fig, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
ax.bar(range(M), p, color=np.where(np.isin(range(M), truth), "#009E73", "#9A9A9A"))
ax.set(xlabel="variant along the chromosome (green: true)", ylabel="inclusion probability")
ax.spines[["top", "right"]].set_visible(False)
