"""Real genotypes with simulated traits: known true features among near-copies."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .dataset import Dataset
from .files import Folder, locate


def load_finemapping(trait: int = 0, *, data_home: Folder = None) -> Dataset:
    """Load N3finemapping: 574 × 1,001 genotypes of chromosome 19, one of two traits, three true effects.

    Source: Wang, Sarkar, Carbonetto & Stephens 2020. 933 pairs of columns have correlations above 0.99.

    >>> load_finemapping().truth  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    if trait not in (0, 1):
        raise ValueError(f"trait must be 0 or 1, got {trait!r}")
    with np.load(locate("finemapping_n3/n3finemapping.npz", data_home)) as arrays:
        coef = arrays["true_coef"][:, trait]
        about = pd.DataFrame({"position": arrays["pos"], "allele_freq": arrays["allele_freq"], "true_coef": coef})
        X, y = arrays["X"], arrays["Y"][:, trait]
    return Dataset(
        X=X,
        y=y,
        features=tuple(f"chr19:{position}" for position in about["position"]),
        samples=tuple(map(str, range(1, len(y) + 1))),
        about_features=about,
        about_samples=pd.DataFrame(index=range(len(y))),
        truth=np.flatnonzero(coef),
    )
