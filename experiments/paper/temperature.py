"""Figure 3: where to put basis functions so that they predict July temperature and are far apart.

Features are Gaussian bumps around the points of a grid, in three widths. Φ = X: bumps that overlap are similar.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from scipy.spatial import KDTree
from sklearn.linear_model import BayesianRidge, LinearRegression

from experiments.data import load_july_temperature
from variegate import metrics
from variegate.comparison import Comparison, compare
from variegate.datasets import gaussian_bumps
from variegate.estimators import DiverseRegressor
from variegate.inference import ConvergenceWarning

from .methods import METHODS, OURS, chosen_methods
from .outputs import markdown, save_figure, write_results, write_table
from .settings import Running
from .summaries import against_ours, p_text, write_repeats
from .temperature_figures import curves_figure, maps_figure

Array = npt.NDArray[Any]
EARTH_KM = 6371.0
# How the heights of chosen bumps are fitted: without a prior, as in the comparison, or with the normal prior of the
# paper's model, its variance by maximum evidence.
FITS = {"MSE": LinearRegression, "MSE, normal heights": BayesianRidge}


@dataclass(frozen=True)
class Settings:
    """Settings. The paper gives neither its grid nor its widths; these were chosen before any fit."""

    repeats: int = 20
    train_sizes: tuple[int, ...] = (100, 200, 300, 400)
    spacing_km: float = 200.0
    widths: tuple[float, ...] = (1.0, 2.0, 4.0)  # in spacings
    methods: tuple[str, ...] = tuple(METHODS)
    map_train_size: int = 300
    pixel_km: float = 20.0
    coast_km: float = 100.0  # the map ends this far from the nearest station


QUICK = {
    "repeats": 2, "train_sizes": (100, 200), "methods": (OURS, "OMP", "Lasso", "Random"), "pixel_km": 50.0,
}  # fmt: skip


class Field(NamedTuple):
    """Measurements y (N,) at sites (N, 2), and centres (M, 2) and widths (M,) of the bumps; all in kilometres."""

    sites: Array
    y: Array
    centres: Array
    widths: Array
    everywhere: Array  # sites of all stations, for the outline

    def bumps(self, places: Array, S: Array | slice = slice(None)) -> Array:
        """Values at some places (n, M) of all bumps, or of some of them."""
        return gaussian_bumps(places, self.centres[S], self.widths[S])


def run(settings: Settings, data: Any, out: Path, running: Running) -> None:
    """Run all methods at each number of measurements; draw curves, and maps of one repeat."""
    field = load(settings, data)
    X, N = field.bumps(field.sites), len(field.y)
    found: dict[int, Comparison] = {}
    for n in settings.train_sizes:
        splits = compare(
            chosen_methods(settings.methods), X, field.y, task="regression", similarity="columns", screen=measured,
            repeats=settings.repeats, test_size=N - n, points=field.centres, reference=OURS,
            random_state=running.seed, n_jobs=running.n_jobs, store=out / f"repeats-{n}.jsonl",
            progress=running.verbose,
        )  # fmt: skip
        found[n] = with_normal_heights(field, splits)
        write_repeats(found[n], out, f"repeats-{n}", measurements=n)
    table = curves(found)
    write_table(table, out, "curves")
    save_figure(curves_figure(table), out, "figure3-curves")
    n = min(settings.train_sizes, key=lambda size: abs(size - settings.map_train_size))
    raster = land(field, settings)
    shots = overshoot(field, found[n], raster)
    write_table(shots, out, "overshoot")
    save_figure(maps_figure(field, maps(field, found[n], raster), raster), out, "figure3-maps")
    parts = [_about(field, settings), summary_part(table, found), claims(table), "![curves](figure3-curves.png)"]
    parts += [overshoot_part(shots, n)]
    averages = averaged(field, found, raster, running)
    write_table(averages, out, "averaged")
    errors = pd.concat(comparison.values("MSE").assign(measurements=n) for n, comparison in found.items())
    parts += [averaged_part(averages, n), against_omp(errors, averages), "![maps](figure3-maps.png)"]
    write_results(out, "Figure 3: July temperature of the United States", parts)


def load(settings: Settings, data: Any) -> Field:
    """476 stations, and a grid over the country."""
    every, some = (load_july_temperature(sample=sample, data_home=data) for sample in (False, True))
    places = albers(every.X)
    centres = grid_points(places, settings.spacing_km)
    widths = np.repeat(settings.spacing_km * np.array(settings.widths), len(centres))
    return Field(albers(some.X), some.y, np.tile(centres, (len(settings.widths), 1)), widths, places)


def albers(lonlat: Array) -> Array:
    """Convert degrees of longitude and latitude to kilometres (n, 2) in Albers' projection of the 48 states.

    >>> albers(np.array([[-96.0, 37.5], [-96.0, 38.5]])).round(0) + 0.0
    array([[  0.,   0.],
           [  0., 112.]])
    """
    lon, lat = np.radians(lonlat).T
    south, north, lon0, lat0 = np.radians([29.5, 45.5, -96.0, 37.5])
    n = (np.sin(south) + np.sin(north)) / 2
    C = np.cos(south) ** 2 + 2 * n * np.sin(south)
    radius, radius0 = (EARTH_KM * np.sqrt(C - 2 * n * np.sin(angle)) / n for angle in (lat, lat0))
    turn = n * (lon - lon0)
    return np.column_stack([radius * np.sin(turn), radius0 - radius * np.cos(turn)])


def grid_points(places: Array, spacing: float) -> Array:
    """Points of a square grid at most half a spacing away from some place, shape (n, 2).

    Only the flanks of bumps at sea would be measured, and their height would be arbitrary.
    """
    axes = [np.arange(low, high + spacing, spacing) for low, high in zip(places.min(0), places.max(0), strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    near: Array = points[KDTree(places).query(points)[0] <= spacing / 2]
    return near


def measured(X: Array, y: Array) -> Array:
    """Bumps that have more than half their height at three of the measured stations or more.

    Columns are standardised: a bump that only one distant station measures looks like that station alone, and its
    height is arbitrary. The first run, without this rule, had errors of thousands of degrees for all methods.
    """
    return np.flatnonzero((X > 0.5).sum(axis=0) >= 3)


class Raster(NamedTuple):
    """Pixels of a map: their axes, and which (rows, columns) are land."""

    x: Array
    y: Array
    inside: Array

    @property
    def places(self) -> Array:
        """Places of the pixels on land (n, 2)."""
        return np.stack(np.meshgrid(self.x, self.y), axis=-1)[self.inside]

    def picture(self, values: Array) -> Array:
        """Values on land (n,) as a picture, nan elsewhere."""
        full = np.full(self.inside.shape, np.nan)
        full[self.inside] = values
        return full


def land(field: Field, settings: Settings) -> Raster:
    """The map of the country, whose stations are dense enough to draw its outline."""
    margin = settings.coast_km + 2 * settings.pixel_km  # so that the outline closes
    low, high = field.everywhere.min(0) - margin, field.everywhere.max(0) + margin
    x, y = (np.arange(a, b, settings.pixel_km) for a, b in zip(low, high, strict=True))
    places = np.stack(np.meshgrid(x, y), axis=-1)
    return Raster(x, y, KDTree(field.everywhere).query(places)[0] <= settings.coast_km)


def predict(field: Field, train: Array, S: Array, places: Array, fit: str = "MSE") -> Array:
    """Temperature at places (n, 2) from the chosen bumps, their heights fitted by one of FITS."""
    model = FITS[fit]().fit(field.bumps(field.sites[train], S), field.y[train])
    return np.asarray(model.predict(field.bumps(places, S)))


def with_normal_heights(field: Field, found: Comparison) -> Comparison:
    """The comparison with one more metric: the error if heights have a normal prior."""
    metric = "MSE, normal heights"
    new = found.table[found.table["metric"] == "MSE"].assign(metric=metric)
    chosen = found.selections.set_index(["repeat", "method"])["positions"]
    values = []
    for repeat, method in zip(new["repeat"], new["method"], strict=True):
        train, test = found.splits[repeat]
        predicted = predict(field, train, np.array(chosen[repeat, method]), field.sites[test], metric)
        values.append(float(np.mean((field.y[test] - predicted) ** 2)))
    return replace(found, table=pd.concat([found.table, new.assign(value=values)], ignore_index=True))


def maps(field: Field, found: Comparison, raster: Raster) -> dict[str, tuple[Array, Array, Array]]:
    """The first repeat for our method and OMP: the picture, the chosen bumps, the measured rows."""
    train = found.splits[0][0]
    chosen = found.selections[(found.selections["repeat"] == 0) & found.selections["method"].isin([OURS, "OMP"])]
    return {
        row.method: (raster.picture(predict(field, train, S, raster.places)), S, train)
        for row in chosen.itertuples()
        for S in [np.array(row.positions)]
    }


def overshoot(field: Field, found: Comparison, raster: Raster) -> pd.DataFrame:
    """How many degrees the map of each repeat and method leaves the range of all measurements, in either direction."""
    rows = []
    for row in found.selections[found.selections["error"].isna()].itertuples():
        train, S = found.splits[row.repeat][0], np.array(row.positions)
        for fit in FITS:
            rows.append((row.repeat, row.method, fit, beyond(field, predict(field, train, S, raster.places, fit))))
    return pd.DataFrame(rows, columns=["repeat", "method", "fit", "beyond"])


def beyond(field: Field, predicted: Array) -> float:
    """How far predictions leave the range of all measurements."""
    return float(max(predicted.max() - field.y.max(), field.y.min() - predicted.min(), 0.0))


def averaged(field: Field, found: dict[int, Comparison], raster: Raster, running: Running) -> pd.DataFrame:
    """Error and overshoot of predictions averaged over the sets of the default fit, on the same splits."""
    tasks = [(n, repeat, *split) for n, comparison in found.items() for repeat, split in enumerate(comparison.splits)]
    rows = Parallel(n_jobs=running.n_jobs)(delayed(_average)(field, raster, running.seed, *task) for task in tasks)
    return pd.DataFrame(rows, columns=["measurements", "repeat", "MSE", "beyond"])


def _average(field: Field, raster: Raster, seed: int, n: int, repeat: int, train: Array, test: Array) -> Any:
    X, y = field.bumps(field.sites), field.y
    kept = measured(X[train], y[train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = DiverseRegressor(random_state=seed + repeat).fit(X[train][:, kept], y[train])
    error = np.mean((y[test] - model.predict(X[test][:, kept])) ** 2)
    return n, repeat, float(error), beyond(field, model.predict(field.bumps(raster.places, kept)))


def curves(found: dict[int, Comparison]) -> pd.DataFrame:
    """Statistics of MSE and distance for each number of measurements and method."""
    parts = []
    for n, comparison in found.items():
        test_share = len(comparison.splits[0][1]) / sum(map(len, comparison.splits[0]))
        sizes = comparison.selections.groupby("method")["size"].mean()
        for metric in (*FITS, "distance"):
            part = against_ours(comparison, metric, test_share)
            parts.append(part.assign(measurements=n, metric=metric, size=part["method"].map(sizes)))
    return pd.concat(parts, ignore_index=True)


# --- words -------------------------------------------------------------------------------------------------------


def _about(field: Field, settings: Settings) -> str:
    widths = ", ".join(f"{w * settings.spacing_km:g}" for w in settings.widths)
    return (
        f"{len(field.y)} stations, {len(field.widths)} candidates: a grid of {settings.spacing_km:g} km, widths "
        f"{widths} km. {settings.repeats} repeats for each number of measurements. {OURS} decides how many bumps it "
        "takes; the others take as many."
    )


def summary_part(table: pd.DataFrame, found: dict[int, Comparison]) -> str:
    """Errors and distance of every method at every number of measurements."""
    rows = []
    for method in table["method"].unique():
        row = {"method": method}
        for n in found:
            cells = table[(table["method"] == method) & (table["measurements"] == n)].set_index("metric")
            free, normal = (
                f"{cells.loc[m, 'mean']:.2f}{'*' if cells.loc[m, 'p paired'] < 0.05 else ''}" for m in FITS
            )
            row[f"n = {n}"] = f"{free} / {normal} / {cells.loc['distance', 'mean']:.0f}"
        rows.append(row)
    sizes = ", ".join(f"{_size(found[n]):.1f}" for n in found)
    return (
        "Mean squared error on the stations left out (°C²), the heights of the bumps by least squares / with a normal "
        "law / mean distance between the chosen grid points (km); means over the repeats; * differs from ours (signed "
        f"rank, Holm, p < 0.05). Bumps chosen: {sizes}.\n\n{markdown(pd.DataFrame(rows))}"
    )


def _size(found: Comparison) -> float:
    return float(found.selections.loc[found.selections["method"] == OURS, "size"].mean())


def claims(table: pd.DataFrame) -> str:
    """The paper's claims, with our numbers: ratios over all numbers of measurements, and how often they hold."""
    lines = []
    for metric in (*FITS, "distance"):
        wide = table[table["metric"] == metric].pivot(index="measurements", columns="method", values="mean")
        word = "above" if metric == "distance" else "below"
        for other in [name for name in ("OMP", "Lasso", "eNet", "SpikeSlab") if name in wide]:
            ratio = wide[OURS] / wide[other]
            better = int((ratio > 1).sum() if metric == "distance" else (ratio < 1).sum())
            p = table[(table["metric"] == metric) & (table["method"] == other)]["p paired"]
            lines.append(
                f"- {metric} of {OURS} over that of {other}: {ratio.mean():.2f} on average, {ratio.min():.2f} to "
                f"{ratio.max():.2f}; {word} 1 in {better} of {len(wide)} (p: {', '.join(map(p_text, p))})."
            )
    return "\n".join(lines)


def overshoot_part(shots: pd.DataFrame, n: int) -> str:
    """How much the maps leave the range of the data."""
    rows = []
    for method, own in shots.groupby("method", sort=False):
        row = {"method": method}
        for fit, title in zip(FITS, ("least squares", "normal heights"), strict=True):
            row[title] = _degrees(own.loc[own["fit"] == fit, "beyond"])
        rows.append(row)
    return (
        f"Degrees by which the map leaves the range of all measurements, with {n} of them known; mean ± standard "
        f"error over the repeats:\n\n{markdown(pd.DataFrame(rows))}"
    )


def _degrees(values: pd.Series) -> str:
    return f"{values.mean():.1f} ± {values.sem():.1f} (at most {values.max():.1f})"


def averaged_part(table: pd.DataFrame, n: int) -> str:
    """What averaging over sets gains."""
    errors = table.groupby("measurements")["MSE"].agg(["mean", "sem"])
    said = ", ".join(f"{row['mean']:.2f} ± {row['sem']:.2f} (n = {size})" for size, row in errors.iterrows())
    shots = _degrees(table.loc[table["measurements"] == n, "beyond"])
    return (
        "Predictions of the package's default fit, averaged over sets of all sizes instead of made from one: mean "
        f"squared error {said}; with {n} measurements they leave the range by {shots} degrees."
    )


def against_omp(errors: pd.DataFrame, averages: pd.DataFrame) -> str:
    """Ratios of mean squared errors to OMP's on the same splits, of the default fit; signed rank, Holm."""
    lines = []
    kinds = {
        "variegate": "The best sets of the exact posterior",
        "panel": "Panels",
        "averaged": "Averaged predictions",
    }
    for name, told in kinds.items():
        if not {"OMP", name} <= {*errors.columns, "averaged"}:
            continue
        ratios, p = {}, []
        for n, own in errors.groupby("measurements"):
            ours = averages.loc[averages["measurements"] == n, "MSE"] if name == "averaged" else own[name]
            ratios[n] = ours.mean() / own["OMP"].mean()
            p.append(metrics.signed_rank(ours, own["OMP"]))
        pairs = zip(ratios.items(), metrics.holm(p), strict=True)
        said = ", ".join(f"{ratio:.2f} (n = {n}, p {p_text(q)})" for (n, ratio), q in pairs)
        lines.append(f"- {told} against OMP's sets: mean squared error times {said}.")
    return "\n".join(lines)
