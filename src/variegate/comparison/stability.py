"""Stability selection: what is selected again when the samples change."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import resample

from .. import __version__, metrics, plots
from ..checks import is_whole
from ..tasks import task_named
from .identity import described
from .inputs import Data, as_seed, read_data
from .runner import Results, caught, is_done, run_jobs


@dataclass(frozen=True, eq=False)
class StabilitySelection:
    """Results of `stability_selection`.

    Attributes
    ----------
    table : data frame
        One row for each column of X: position, name, frequency (share of the bootstraps that selected it),
        inclusion_probability (mean over the bootstraps; NaN if the estimator has none).
    sets : the selected positions of each bootstrap
    errors : of the bootstraps that failed, which are not counted above

    Examples
    --------
    >>> table = pd.DataFrame({"position": [0, 1], "name": ["a", "b"], "frequency": [1.0, 0.5]})
    >>> found = StabilitySelection(table, [np.array([0]), np.array([0, 1])], [])
    >>> found.selected(0.6)["name"].tolist(), found.jaccard
    (['a'], 0.5)
    """

    table: pd.DataFrame = field(repr=False)
    sets: list[NDArray[np.int64]] = field(repr=False)
    errors: list[str] = field(repr=False)

    @property
    def stability(self) -> float:
        """Agreement of the sets, corrected for chance (Nogueira 2018); 1 if all are the same."""
        return metrics.stability(self.sets, len(self.table))

    @property
    def jaccard(self) -> float:
        """Mean of |A ∩ B| / |A ∪ B| over pairs of sets."""
        return metrics.mean_jaccard(self.sets)

    def selected(self, threshold: float = 0.6) -> pd.DataFrame:
        """Return the columns selected in at least that share of the bootstraps, most frequent first."""
        rows = self.table[self.table["frequency"] >= threshold]
        return rows.sort_values(["frequency", "position"], ascending=[False, True], ignore_index=True)

    def plot(self, n: int = 20, threshold: float | None = 0.6, ax: Any = None) -> Any:
        """Plot the n columns selected most often; returns the Axes."""
        rows = self.table.sort_values(["frequency", "position"], ascending=[False, True]).head(n)
        columns = (rows[c].to_numpy() for c in ("frequency", "inclusion_probability", "name"))
        return plots.frequencies(*columns, threshold=threshold, ax=ax)


@dataclass(frozen=True)
class Bootstraps:
    """What all bootstraps share."""

    data: Data
    y: NDArray[Any]  # as it was given
    estimator: Any
    seed: int


def stability_selection(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    n_bootstraps: int = 50,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
    store: str | Path | None = None,
    progress: bool = True,
) -> StabilitySelection:
    """Fit an estimator to bootstrap samples, and count how often each column is selected.

    Rows are drawn with replacement, within each class for a classifier. If the same columns are selected every time,
    the selection can be trusted; if they differ, they can replace each other, or are noise.

    Parameters
    ----------
    estimator : DiverseRegressor, DiverseClassifier, or any scikit-learn estimator with `get_support()`
    X : (N, M) array or data frame; y : (N,)
    n_bootstraps : number of bootstrap samples
    random_state, n_jobs, store, progress : as in `compare`; with a store, `n_bootstraps` may grow

    Reference: Meinshausen & Bühlmann (2010), "Stability selection".

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest, f_regression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> stability_selection(SelectKBest(f_regression, k=1), X, y, 5, progress=False).selected()["position"].tolist()
    [1]
    """
    if not is_whole(n_bootstraps) or n_bootstraps < 2:
        raise ValueError(f"n_bootstraps must be a whole number above one, got {n_bootstraps!r}.")
    data = read_data(X, y, "classification" if is_classifier(estimator) else "regression")
    shared = Bootstraps(data, np.asarray(y), estimator, as_seed(random_state))
    results = run_jobs(
        run_bootstrap, shared, lambda known: [(b,) for b in range(n_bootstraps) if not is_done(known, str(b))],
        store=store, call=lambda: _call(shared), n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    return _stability_of(data, [results[str(b)] for b in range(n_bootstraps)])


def _call(shared: Bootstraps) -> dict[str, Any]:
    given = {"X": shared.data.X, "y": shared.y, "columns": shared.data.names, "estimator": shared.estimator}
    about = {name: described(value, name) for name, value in given.items()}
    return {"kind": "stability_selection", "variegate": __version__, "seed": shared.seed, **about}


def run_bootstrap(shared: Bootstraps, number: int) -> Results:
    """Return the selected positions and the inclusion probabilities of one bootstrap. Never raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # empty sets and unconverged fits are part of what is counted
        return caught(str(number), lambda: _selected(shared, number))


def _selected(shared: Bootstraps, number: int) -> dict[str, Any]:
    rows_seed, fit_seed = np.random.SeedSequence(shared.seed, spawn_key=(number,)).generate_state(2).tolist()
    classes = task_named(shared.data.task).strata(shared.data.y)
    rows = resample(np.arange(len(shared.y)), stratify=classes, random_state=rows_seed)
    model = clone(shared.estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=fit_seed)
    X: Any = shared.data.X[rows]
    if shared.data.names is not None:  # side information may be matched by name
        X = pd.DataFrame(X, columns=shared.data.names)
    model.fit(X, shared.y[rows])
    p = getattr(model, "inclusion_probabilities_", None)
    return {"positions": np.flatnonzero(model.get_support()).tolist(), "inclusion": None if p is None else p.tolist()}


def _stability_of(data: Data, results: list[Any]) -> StabilitySelection:
    errors = [r["error"] for r in results if r["error"] is not None]
    done = [r for r in results if r["error"] is None]
    if len(done) < 2:
        raise ValueError(f"{len(errors)} of {len(results)} bootstraps failed, the first with:\n{errors[0]}")
    if errors:
        last = errors[0].splitlines()[-1]
        warnings.warn(f"{len(errors)} of {len(results)} bootstraps failed ({last}); see .errors.", stacklevel=3)
    M = data.X.shape[1]
    sets = [np.array(r["positions"], dtype=np.int64) for r in done]
    frequency = np.bincount(np.concatenate(sets), minlength=M) / len(sets)
    given = [r["inclusion"] for r in done if r["inclusion"] is not None]
    inclusion = np.mean(given, axis=0) if given else np.full(M, np.nan)
    table = pd.DataFrame(
        {"position": np.arange(M), "name": data.labels, "frequency": frequency, "inclusion_probability": inclusion}
    )
    return StabilitySelection(table, sets, errors)
