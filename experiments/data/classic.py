"""Seven classic benchmarks of feature selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from .dataset import Dataset
from .files import Folder, read_frame


def load_colon(*, data_home: Folder = None) -> Dataset:
    """Load colon tumours: 62 × 2,000 log2 intensities; y "tumour" (40), "normal" (22).  Alon et al. 1999.

    >>> load_colon().X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    frame = _small("colon", data_home)
    y = np.where(frame["y"] == 2, "tumour", "normal")
    genes = _small("colon_genes", data_home)
    data = _dataset(frame, "y", about_features=genes)
    return replace(data, X=np.log2(data.X), y=y)


def load_leukemia(*, data_home: Folder = None) -> Dataset:
    """Load leukemia: 38 × 3,051, filtered and normalised; y "ALL" (27) or "AML" (11).  Golub et al. 1999.

    >>> load_leukemia().X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    frame = _small("leukemia", data_home)
    genes = _small("leukemia_genes", data_home)
    data = _dataset(frame, "y", about_features=genes)
    return replace(data, y=np.where(frame["y"] == 1, "ALL", "AML"))


def load_tecator(outcome: str = "fat", *, data_home: Folder = None) -> Dataset:
    """Load near-infrared spectra of meat: 215 × 100 wavelengths; y fat, water or protein.

    `about_features` has the wavelengths (nm), `about_samples` the other contents and `train`, the usual
    first 129 rows.

    >>> load_tecator().X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    frame = _small("tecator", data_home)
    contents = ["fat", "water", "protein"]
    if outcome not in contents:
        raise ValueError(f'outcome must be "fat", "water" or "protein", got {outcome!r}')
    data = _dataset(frame, outcome, beside=contents)
    about = frame[contents].assign(train=(np.arange(len(frame)) < 129).astype(int))
    return replace(data, about_features=_wavelengths(data.features), about_samples=about)


def load_gasoline(*, data_home: Folder = None) -> Dataset:
    """Load near-infrared spectra of gasoline: 60 × 401 wavelengths; y octane number.  Kalivas 1997.

    >>> load_gasoline().X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    data = _dataset(_small("gasoline", data_home), "octane")
    return replace(data, about_features=_wavelengths(data.features))


def load_prostate(*, data_home: Folder = None) -> Dataset:
    """Load prostate cancer: 97 × 8; y log PSA; `about_samples.train`: the usual 67.  Stamey et al. 1989.

    >>> load_prostate().X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    return _dataset(_small("prostate", data_home), "lpsa", beside=["train"])


def load_diabetes(*, expand: bool = False, data_home: Folder = None) -> Dataset:
    """Load diabetes progression: 442 × 10, unscaled.  Efron et al. 2004.

    With `expand`, the usual harder version: also the squares (except that of sex, which has two values) and
    products of the standardised columns, 442 × 64.

    >>> load_diabetes().X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    data = _dataset(_small("diabetes", data_home), "target")
    if not expand:
        return data
    Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    names = list(data.features)
    pairs = [(i, j) for i in range(len(names)) for j in range(i, len(names)) if (names[i], i) != ("sex", j)]
    products = np.column_stack([Z[:, i] * Z[:, j] for i, j in pairs])
    more = [f"{names[i]}^2" if i == j else f"{names[i]}*{names[j]}" for i, j in pairs]
    features = (*names, *more)
    return replace(
        data,
        X=np.hstack([Z, products]),
        features=features,
        about_features=pd.DataFrame(index=range(len(features))),
    )


def load_communities_crime(*, data_home: Folder = None) -> Dataset:
    """Load violent crime in 1,994 U.S. communities: 100 features, none missing.  Redmond & Baveja 2002.

    The 22 police columns (1,675 blanks each) are left out, the one blank in `OtherPerCap` is filled with the
    median, and the five identifying columns are in `about_samples`. The features include race: this is a
    benchmark of methods, not a basis for conclusions about people.

    >>> load_communities_crime().X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    """
    frame = _small("communities_crime", data_home)
    identity = list(frame.columns[:5])
    frame = frame.drop(columns=[name for name in frame.columns[5:] if frame[name].isna().sum() > 1])
    numbers = frame.drop(columns=identity)
    filled = pd.concat([frame[identity], numbers.fillna(numbers.median())], axis=1)
    return _dataset(filled, "ViolentCrimesPerPop", beside=identity)


def _small(name: str, data_home: Folder) -> pd.DataFrame:
    return read_frame(f"small/{name}.csv.gz", data_home)


def _dataset(
    frame: pd.DataFrame,
    outcome: str,
    *,
    beside: Sequence[str] = (),
    about_features: pd.DataFrame | None = None,
) -> Dataset:
    columns = [name for name in frame.columns if name != outcome and name not in beside]
    return Dataset(
        X=frame[columns].to_numpy(float),
        y=frame[outcome].to_numpy(),
        features=tuple(columns),
        samples=tuple(str(i + 1) for i in range(len(frame))),
        about_features=pd.DataFrame(index=range(len(columns))) if about_features is None else about_features,
        about_samples=frame[list(beside)],
    )


def _wavelengths(features: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame({"wavelength": [float(name.removeprefix("nm")) for name in features]})
