"""
Wavelengths of a spectrum
=========================

Spectra are smooth: neighbouring wavelengths are near-copies. Three substances with broad bands are mixed, and the
amount of one of them is predicted. Similarity comes from the distance between wavelengths.
"""

import numpy as np
from matplotlib import pyplot as plt

import variegate as vg

rng = np.random.default_rng(0)
wavelength = np.linspace(900, 1700, 60)
bands = {"fat": (1210, 1390), "water": (970, 1450), "protein": (1180, 1510)}
pure = np.array([sum(np.exp(-(((wavelength - at) / 45) ** 2)) for at in places) for places in bands.values()])
amounts = rng.random((90, 3))
X = (
    amounts @ pure + 0.1 * rng.normal(size=(90, 1)) + 0.02 * rng.normal(size=(90, 60))
)  # each with a baseline of its own
fat = amounts[:, 0] + 0.03 * rng.normal(size=90)

phi = vg.similarity.from_coordinates(wavelength, bandwidth=60.0)
model = vg.DiverseRegressor(similarity=phi, random_state=0).fit(X, fat)
print("wavelengths:", wavelength[model.support_].round().astype(int).tolist())

# %%
# One chosen wavelength is in a band of fat. The other is outside, where it measures the baseline and protein, whose
# bands overlap with those of fat: it corrects for both.

fig, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
for spectrum, name, colour in zip(pure, bands, ("#D55E00", "#56B4E9", "#9A9A9A"), strict=True):
    top.plot(wavelength, spectrum, color=colour, label=name)
top.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
top.set_ylabel("pure spectra")
for at in wavelength[model.support_]:
    top.axvline(at, color="#009E73", lw=1)
bottom.bar(wavelength, model.posterior_.inclusion_prob(), width=10, color="#009E73")
bottom.set(xlabel="wavelength, nm", ylabel="inclusion probability")
