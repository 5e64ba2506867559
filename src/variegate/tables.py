"""A fitted model as tables: what was selected, and what could have been selected instead.

Pure functions of a fitted `DiverseRegressor` or `DiverseClassifier`, also of one that `load` read.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from .dpp.sets import IntArray
from .predictions import Component

FloatArray = NDArray[np.float64]


class CoefficientLaw(NamedTuple):
    """Mean and central interval of each column's coefficient, averaged over sets; arrays (M,)."""

    mean: FloatArray
    lower: FloatArray
    upper: FloatArray


def selection_table(model: Any, level: float = 0.95) -> pd.DataFrame:
    """One row for each column of X, the most probable first.

    Columns: `feature`; `inclusion_probability`; `error`, its Monte Carlo error; `coefficient`, `lower`, `upper`;
    `selected` (in the chosen set: the MAP set, or the best one of the size that was asked for); `role` ("candidate",
    "always included", "screened out"); `rank` (1 is the most probable; equal ones: selected first, then as in X).

    The coefficient is the posterior mean in the units of X, averaged over sets, `model.coef_`; lower and upper are
    quantiles of the same averaged law, which counts a coefficient as exactly 0 in every set without the feature:

        F(b) = Σ_S w_S ([m ∈ S] F_{m|S}(b) + [m ∉ S] [b ≥ 0]),

    F_{m|S} Student-t (regression) or Gaussian (classification), w_S the weights of the sets that predictions are
    averaged over. So a feature that is in few sets has the interval [0, 0], and one whose interval excludes 0 is in
    nearly all.
    With more than two classes there are `coefficient[A]`, `lower[A]`, `upper[A]` for each class A against the rest.

    >>> import variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    >>> model = vg.DiverseRegressor(random_state=0).fit(X, 2 * X["c"] + 0.5 * rng.normal(size=80))
    >>> selection_table(model).loc[0, ["feature", "role"]].tolist()
    ['c', 'candidate']
    """
    probability, support = model.inclusion_probabilities_, model.support_
    order = np.lexsort([np.arange(len(support)), ~support, -probability])
    columns = {
        "feature": feature_names(model)[order],
        "inclusion_probability": probability[order],
        "error": model.inclusion_errors_[order],
    }
    for suffix, law in coefficient_laws(model, level).items():
        for name, values in law._asdict().items():
            columns[f"{'coefficient' if name == 'mean' else name}{suffix}"] = values[order]
    columns |= {"selected": support[order], "role": _roles(model)[order], "rank": np.arange(1, len(order) + 1)}
    return pd.DataFrame(columns)


def alternatives_table(model: Any, n: int = 5) -> pd.DataFrame:
    """Good sets that differ from each other, best first; one row each.

    Columns: `rank`; `size`; `features`, `added`, `removed`: tuples of names, the latter two against the selected set;
    `odds` (posterior probability relative to the first row's); `probability` (share of the sampled sets that are
    exactly this one; of a variational fit q(S));
    `log_evidence` (log p(y|S), the fit); `log_joint` (with the prior: what sets are ranked by). If the selection has
    a size, so have these.

    >>> import variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> model = vg.DiverseRegressor(random_state=0).fit(X, X[:, 1] + 0.5 * rng.normal(size=60))
    >>> alternatives_table(model, 2)["features"].tolist()[0]
    ('x1',)
    """
    posterior, selected = model.posterior_, model._map
    labels = np.asarray(posterior.names, dtype=object)
    rows = [
        {
            "rank": i,
            "size": len(found.positions),
            "features": tuple(labels[found.positions]),
            "added": tuple(labels[np.setdiff1d(found.positions, selected)]),
            "removed": tuple(labels[np.setdiff1d(selected, found.positions)]),
            "odds": found.odds,
            "probability": float(np.exp(found.log_prob)),
            "log_evidence": found.log_evidence,
            "log_joint": found.log_joint,
        }
        for i, found in enumerate(posterior.alternatives(n, size=model._size()), start=1)
    ]
    return pd.DataFrame(rows)


def feature_names(model: Any) -> NDArray[Any]:
    """Names of the columns of X (M,): x0, x1, … where it had none."""
    names = getattr(model, "feature_names_in_", None)
    return np.array([f"x{i}" for i in range(model.n_features_in_)] if names is None else names, dtype=object)


def coefficient_laws(model: Any, level: float = 0.95) -> dict[str, CoefficientLaw]:
    """The averaged law of the coefficients: {"": law}, or {"[A]": law, …} for more than two classes."""
    if not 0 < level < 1:
        raise ValueError(f"The level must lie strictly between 0 and 1, got {level}.")
    parts = model._by_part(model._components())
    suffixes = [""] if len(parts) == 1 else [f"[{label}]" for label in model.classes_]
    return {
        suffix: averaged_law(coefficient_terms(model, part), model.n_features_in_, _dof(part[0], model), level)
        for suffix, part in zip(suffixes, parts, strict=True)
    }


class Terms(NamedTuple):
    """The sets that a column is in: their weights, and location and scale of its coefficient there; arrays (n,)."""

    weights: FloatArray
    means: FloatArray
    scales: FloatArray


def averaged_law(terms: dict[int, Terms], n_columns: int, dof: float, level: float) -> CoefficientLaw:
    """Mean and interval for every column, from the columns that are in some set; the others are 0."""
    law = CoefficientLaw(*np.zeros((3, n_columns)))
    for column, found in terms.items():
        law.mean[column] = found.weights @ found.means
        law.lower[column] = quantile(found, dof, (1 - level) / 2)
        law.upper[column] = quantile(found, dof, (1 + level) / 2)
    return law


def quantile(terms: Terms, dof: float, u: float) -> float:
    """The smallest b with F(b) ≥ u, for F = Σ_k w_k T_k + (1 − Σ_k w_k) [b ≥ 0]: components and an atom at zero."""
    if not np.isfinite(terms.scales).all():
        return float(np.copysign(np.inf, u - 0.5))
    if not terms.scales.all():  # a constant column: its coefficient is zero in every set
        return quantile(Terms(*(values[terms.scales > 0] for values in terms)), dof, u)
    atom = max(1.0 - terms.weights.sum(), 0.0)
    below = float(terms.weights @ _cdf(-terms.means / terms.scales, dof))
    if below < u <= below + atom:
        return 0.0
    v = u if u <= below else u - atom  # the continuous part alone has to reach this
    unit = _quantile(v / terms.weights.sum(), dof)
    low, high = float((terms.means + unit * terms.scales).min()), float((terms.means + unit * terms.scales).max())
    while high - low > 1e-12 * max(abs(low), abs(high)):  # the mixture's quantile lies between its components'
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if terms.weights @ _cdf((middle - terms.means) / terms.scales, dof) < v:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _cdf(z: FloatArray, dof: float) -> FloatArray:
    return np.asarray(special.stdtr(dof, z) if np.isfinite(dof) else special.ndtr(z))


def _quantile(u: float, dof: float) -> float:
    u = min(u, 1.0 - 1e-16)
    return float(special.stdtrit(dof, u) if np.isfinite(dof) else special.ndtri(u))


def _roles(model: Any) -> NDArray[Any]:
    candidates = model._candidates
    roles = np.full(candidates.n_columns, "screened out", dtype=object)
    roles[candidates.columns], roles[candidates.always] = "candidate", "always included"
    return roles


def _dof(component: Component, model: Any) -> float:
    """Degrees of freedom of the coefficients, ∞ in classification: those of any prediction."""
    return float(component.likelihood.predictive(np.empty(0, dtype=np.int64), *_centre(model)).dof)


def _centre(model: Any) -> tuple[FloatArray, FloatArray | None]:
    """The mean of the training rows: candidates (1, m) and always included columns (1, p) or None."""
    X, C = model._training.X, model._training.covariates
    return np.asarray(X.mean(axis=0)).reshape(1, -1), None if C is None else np.asarray(C.mean(axis=0)).reshape(1, -1)


def coefficient_terms(model: Any, components: Sequence[Component]) -> dict[int, Terms]:
    """For each column of X that is in some set, its coefficient in each of these."""
    candidates, dof = model._candidates, _dof(components[0], model)
    shrink = 1.0 if np.isinf(dof) else np.sqrt(max(dof - 2, 0.0) / dof)  # from a standard deviation to a scale
    rows: dict[int, list[tuple[float, float, float]]] = {}
    for S, weight, part in components:
        found = part.coefficients(S)
        columns = candidates.columns[part.columns(S) if candidates.is_grouped else S]
        scales = shrink * np.sqrt(np.diag(found.covariance))
        means = [*found.mean, *found.covariates]
        for column, mean, scale in zip(
            [*columns, *candidates.always], means, [*scales, *_covariate_scales(model, part, S)], strict=True
        ):
            rows.setdefault(int(column), []).append((weight, mean, scale))
    return {column: Terms(*np.array(values).T) for column, values in rows.items()}


def _covariate_scales(model: Any, part: Any, S: IntArray) -> FloatArray:
    """Scales (p,) of the coefficients of the always included columns given S.

    The variance of the linear predictor is quadratic in a row, so its second difference along a column is twice the
    variance of that column's coefficient: [v(x + t) + v(x − t) − 2v(x)] / 2t².
    """
    X, C = _centre(model)
    if C is None:
        return np.empty(0)
    p = C.shape[1]
    table = model._training.covariates
    steps = np.asarray((table.toarray() if hasattr(table, "toarray") else table).std(axis=0)).ravel()
    steps = np.where(steps > 0, steps, 1.0)
    rows = C + np.vstack([np.zeros(p), np.diag(steps), -np.diag(steps)])
    v = np.square(part.predictive(S, np.repeat(X, len(rows), axis=0), rows).latent_scale)
    second = v[1 : p + 1] + v[p + 1 :] - 2 * v[0]
    return np.asarray(np.sqrt(np.maximum(second / 2, 0.0)) / steps)
