"""July temperatures in the United States: the paper's second experiment."""

from __future__ import annotations

import pandas as pd

from .dataset import Dataset
from .files import Folder, read_frame


def load_july_temperature(*, sample: bool = False, data_home: Folder = None) -> Dataset:
    """Load mean July temperatures (°C, 1981-2010) of 7,185 U.S. weather stations.  Paper: section 5.2.

    X holds longitude and latitude in degrees. Features for a regression are bumps at centres of your choice,
    see `variegate.datasets.gaussian_bumps`.

    Parameters
    ----------
    sample : True keeps 476 stations, as many as in the paper (not the same ones: its list could not be found)
    data_home : folder with `us_july_temperature/`; None: the environment variable VARIEGATE_DATA

    >>> load_july_temperature(sample=True).X.shape  # needs the data, see `VARIEGATE_DATA`  # doctest: +SKIP
    (476, 2)
    """
    stations = read_frame("us_july_temperature/us_stations_july.csv.gz", data_home)
    if sample:
        stations = stations[stations["sample476"] == 1].reset_index(drop=True)
    return Dataset(
        X=stations[["lon", "lat"]].to_numpy(float),
        y=stations["july_tavg_c"].to_numpy(float),
        features=("lon", "lat"),
        samples=tuple(stations["station_id"]),
        about_features=pd.DataFrame(index=range(2)),
        about_samples=stations,
    )
