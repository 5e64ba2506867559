"""What the page says about the selection: values for the template, no HTML."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..estimators.side_information import similarity_features
from ..inference import ConvergenceWarning, Sample
from ..inference.local_search import best_exchanges
from ..posterior import Posterior
from ..selection import Selection
from ..types import FloatArray, IntArray

RUNNERS_UP = 8  # features after the chosen ones
ROWS = 200  # of the table of chosen features
ENOUGH = 200  # sampled sets: their share is known to ±0.07, two standard errors
EXPLAINED = 30  # chosen features whose relatives are shown
RELATIVES = 4
FAINT = 0.05  # similarity below which a feature is no relative


class Row(NamedTuple):
    """A feature in the table of the chosen."""

    feature: str
    probability: float
    coefficient: float
    lower: float
    upper: float
    of_class: str | None  # which class against the rest, where there are more than two
    role: str  # "chosen", "always included" or "runner-up"


class Relative(NamedTuple):
    """A feature that is like a chosen one, and how probable it is with and without it."""

    feature: str
    similarity: float
    probability: float
    instead: float


class Replacement(NamedTuple):
    """What takes the place of a chosen feature in the best set without it, and the odds of that set."""

    feature: str
    odds: float


class Stand(NamedTuple):
    """What a chosen feature stands for."""

    feature: str
    probability: float
    relatives: list[Relative]
    replacement: Replacement | None
    within: float | None = None  # two errors of the probabilities without it, where chains stopped early


class Without(NamedTuple):
    """Inclusion probabilities if a unit is left out."""

    probability: FloatArray  # (U,) NaN where nothing is possible without it
    within: float | None = None  # two errors of the least certain one, where that is more than was asked for


def unit_similarity(found: Selection) -> FloatArray:
    """Unit rows whose products are similarities of the units (U, d): of the Φ of the fit, or else of the columns."""
    phi = found.posterior.target.phi
    if phi is None:
        data = found.training
        phi = similarity_features("columns", data.X, found.candidates, None, data.weights)
    rows = np.asarray(phi, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, where=norms > 0, out=np.zeros_like(rows)))


def selection_rows(table: pd.DataFrame, classes: NDArray[Any] | None) -> list[Row]:
    """The chosen features and those that come next, most probable first, of a `selection_table`."""
    candidate = table["role"] == "candidate"
    parts = [
        ("chosen", table[table["selected"] & candidate].head(ROWS)),
        ("always included", table[table["role"] == "always included"].head(ROWS)),
        ("runner-up", table[~table["selected"] & candidate].head(RUNNERS_UP)),
    ]
    return [_row(record, role, classes) for role, part in parts for record in part.to_dict("records")]


def _row(record: Mapping[str, Any], role: str, classes: NDArray[Any] | None) -> Row:
    suffix, label = "", None
    if "coefficient" not in record and classes is not None:  # several classes: the one that it says most about
        label = max(classes, key=lambda c: abs(record[f"coefficient[{c}]"]))
        suffix = f"[{label}]"
    return Row(
        feature=str(record["feature"]),
        probability=float(record["inclusion_probability"]),
        coefficient=float(record[f"coefficient{suffix}"]),
        lower=float(record[f"lower{suffix}"]),
        upper=float(record[f"upper{suffix}"]),
        of_class=None if label is None else str(label),
        role=role,
    )


def stands(posterior: Posterior, chosen: IntArray, similarity: FloatArray) -> list[Stand]:
    """The chosen units with their relatives, most probable first."""
    probability, names = posterior.inclusion_prob(), posterior.labels
    replaced = replacements(posterior, chosen)
    found = []
    for unit in chosen[np.argsort(-probability[chosen], kind="stable")][:EXPLAINED]:
        alike = np.abs(similarity @ similarity[unit])
        alike[unit] = 0.0
        instead, within = without(posterior, unit)
        near = [i for i in np.argsort(-alike, kind="stable")[:RELATIVES] if alike[i] > FAINT]
        relatives = [Relative(str(names[i]), *map(float, (alike[i], probability[i], instead[i]))) for i in near]
        found.append(Stand(str(names[unit]), float(probability[unit]), relatives, replaced.get(int(unit)), within))
    return found


def replacements(posterior: Posterior, chosen: IntArray) -> dict[int, Replacement]:
    """For each chosen unit the one that takes its place best, judged by the data rather than by q."""
    target = posterior.target
    if not len(chosen) or not target.has_gains:
        return {}
    value, found = target.log_joint(chosen), {}
    for _, S in best_exchanges(target, chosen):
        (gone,), (come,) = np.setdiff1d(chosen, S), np.setdiff1d(S, chosen)
        odds = float(np.exp(min(target.log_joint(S) - value, 700.0)))
        found[int(gone)] = Replacement(str(posterior.labels[come]), odds)
    return found


def without(posterior: Posterior, unit: int) -> Without:
    """Inclusion probabilities if a unit is left out.

    From the sampled sets without it where there are enough of them, else from chains of their own. The page says
    itself where these stop early.
    """
    held = [(S, w) for S, w in zip(posterior.sets, posterior.weights, strict=True) if unit not in S]
    if len(held) >= ENOUGH:
        found = np.zeros(posterior.n_features)
        for S, w in held:
            found[S] += w
        return Without(np.asarray(found / sum(w for _, w in held)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            given = posterior.condition(exclude=[int(unit)])
    except ValueError:  # a fixed size that the others cannot fill
        return Without(np.full(posterior.n_features, np.nan))
    stopped = isinstance(given.fit, Sample) and not given.fit.converged
    return Without(np.asarray(given.inclusion_prob()), 2 * float(given.inclusion_errors().max()) if stopped else None)


class Metric(NamedTuple):
    """One metric of a comparison: for each method its mean, deviation and values."""

    name: str
    title: str
    meaning: str
    methods: list[str]
    means: list[float]
    deviations: list[float]
    values: list[list[float]]
    lost: int  # infinite values, left out


MEANINGS = {
    "AUC": ("Telling the classes apart (AUC)", "0.5 is guessing, 1 is perfect."),
    "R2": ("Predicting the outcome (R²)", "The share of the variation that is explained: 0 is nothing, 1 is all."),
    "log det": (
        "Diversity of the set (log det)",
        "0: all chosen features differ completely; the lower, the more they repeat each other.",
    ),
}


def metrics_of(comparison: pd.DataFrame | None) -> list[Metric]:
    """Accuracy and diversity of the compared methods, in the order in which they come."""
    if comparison is None or not len(comparison):
        return []
    missing = {"repeat", "method", "metric", "value"} - set(comparison.columns)
    if missing:
        raise ValueError(
            f"comparison must be the table of vg.compare (with repeat, method, metric, value); it has no "
            f"{', '.join(sorted(missing))}. Hand in compare(...).table."
        )
    present = [name for name in MEANINGS if (comparison["metric"] == name).any()]
    return [_metric(comparison[comparison["metric"] == name], name) for name in present]


def _metric(rows: pd.DataFrame, name: str) -> Metric:
    methods = [str(method) for method in rows["method"].unique()]
    values = [rows.loc[rows["method"] == method, "value"].to_numpy(dtype=np.float64) for method in methods]
    finite = [v[np.isfinite(v)] for v in values]
    lost = sum(map(len, values)) - sum(map(len, finite))
    means = [float(v.mean()) if len(v) else np.nan for v in finite]
    deviations = [float(v.std(ddof=1)) if len(v) > 1 else np.nan for v in finite]
    return Metric(name, *MEANINGS[name], methods, means, deviations, [v.tolist() for v in finite], lost)
