"""
Classification
==============

Ten measurements of tumours, several of which are nearly the same (radius, perimeter, area). Choose three that
distinguish malignant from benign tumours.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer

import variegate as vg

table = load_breast_cancer(as_frame=True)
X, y = table.data.iloc[::6, :10], table.target_names[table.target[::6]]
model = vg.DiverseClassifier(n_features_to_select=3, random_state=0).fit(X, y)
print(model.get_feature_names_out().tolist())

# %%
# Alternatives: the odds of other sets of three against the best one.

others = model.posterior_.alternatives(4, size=3)
for other in others:
    print(f"{other.odds:.2f}", ", ".join(other.features))

# %%
# Predicted probabilities come with intervals, which include the uncertainty about the set.

new, kind = table.data.iloc[1:200:8, :10], table.target_names[table.target[1:200:8]]
p = model.predict_proba(new)[:, 1]
low, high = model.predict_interval(new, level=0.9).T
order = np.argsort(p)
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.vlines(range(len(p)), low[order], high[order], color="#bbbbbb", lw=3)
ax.scatter(range(len(p)), p[order], c=np.where(kind[order] == model.classes_[1], "#D55E00", "#009E73"), zorder=3)
ax.set(xlabel="new tumours (red: malignant)", ylabel=f"P({model.classes_[1]}), 90 %")
ax.spines[["top", "right"]].set_visible(False)
