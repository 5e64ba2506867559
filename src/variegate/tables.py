"""A fitted model as tables: what was selected, and what could have been selected instead.

Pure functions of a `Selection` or a fitted estimator, including one read by `load`.
"""

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .candidates import Candidates
from .diagnostics import Diagnostics
from .groups import exchanges
from .posterior import Alternative
from .predictions import student_cdf, student_quantile
from .selection import Fitted, Outcome, Selection, selection_of
from .threads import one_blas_thread
from .types import FloatArray, IntArray

DIVERSITIES = (0.0, 1.0, 2.0, 4.0, 8.0)  # of the frontier
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of a spreadsheet formula
_DIGITS = r"(inf|[\d.]+(e[-+]?\d+)?)"
NUMBER = re.compile(rf"[-+]?{_DIGITS} ± {_DIGITS}( [↑↓]\*+)?")  # as in the summary of a comparison; not a formula
FEW = 5  # features in its middle if none are chosen
LISTED = 100_000  # columns; in a larger table, those that were screened out are not listed
GROUP_COLUMNS = [
    "group", "group_probability", "feature", "inclusion_probability", "share", "selected", "purity", "likeness",
]  # fmt: skip


class CoefficientLaw(NamedTuple):
    """Mean and central interval of each column's coefficient, averaged over sets; arrays (M,)."""

    mean: FloatArray
    lower: FloatArray
    upper: FloatArray


def selection_table(model: Selection | Fitted, level: float = 0.95) -> pd.DataFrame:
    """One row for each column of X, the most probable first; beyond 100,000 columns without those screened out.

    Columns: `feature`; `inclusion_probability`; `error`, its Monte Carlo error; `coefficient`, `lower`, `upper`;
    `selected` (in the panel, or with choose="probability" in the most probable set); `role` ("candidate", "always
    included", "screened out", or "reference": the most common value of a category, to which the coefficients of the
    others are relative); `rank` (1 is the most probable; ties: selected first, then in the order of X).

    The coefficient is the posterior mean in the units of X, averaged over sets, `model.coef_`; lower and upper are
    quantiles of the same averaged law, which counts a coefficient as exactly 0 in every set without the feature:

        F(b) = Σ_S w_S ([m ∈ S] F_{m|S}(b) + [m ∉ S] [b ≥ 0]),

    F_{m|S} Student-t (regression) or Gaussian (classification), w_S the weights of the sets over which predictions are
    averaged. So a feature that is in few sets has the interval [0, 0], and one whose interval excludes 0 is in nearly
    all.
    With more than two classes there are `coefficient[A]`, `lower[A]`, `upper[A]` for each class A against the rest.

    >>> import variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    >>> model = vg.DiverseRegressor(random_state=0).fit(X, 2 * X["c"] + 0.5 * rng.normal(size=80))
    >>> selection_table(model).loc[0, ["feature", "role"]].tolist()
    ['c', 'candidate']
    """
    found = selection_of(model)
    probability, support, order = found.inclusion_probabilities, found.support, listed_columns(found)
    columns = {
        "feature": found.column_names[order],
        "inclusion_probability": probability[order],
        "error": found.inclusion_errors[order],
    }
    for suffix, law in coefficient_laws(found, level).items():
        for name, values in law._asdict().items():
            columns[f"{'coefficient' if name == 'mean' else name}{suffix}"] = values[order]
    roles = _roles(found.candidates)
    columns |= {"selected": support[order], "role": roles[order], "rank": np.arange(1, len(order) + 1)}
    return pd.DataFrame(columns)


def listed_columns(found: Selection) -> IntArray:
    """Return the column of X in each row of `selection_table`."""
    support = found.support
    order = np.lexsort([np.arange(len(support)), ~support, -found.inclusion_probabilities])
    if len(order) <= LISTED:
        return order
    return order[np.isin(order, np.concatenate([found.candidates.columns, found.candidates.always]))]


def alternatives_table(model: Selection | Fitted, n: int = 5) -> pd.DataFrame:
    """Good sets that differ from each other, best first; one row each.

    Columns: `rank`; `size`; `features`, `added`, `removed`: tuples of names, the latter two relative to the selected
    set;
    `within`, `between`: pairs of a removed and an added name, for exchanges within a group (another copy of the same
    thing) and between groups (another explanation);
    `odds` (posterior probability relative to the first row's); `probability` (fraction of sampled sets equal to this
    one);
    `log_evidence` (log p(y|S), the fit); `log_joint` (with the prior: what sets are ranked by). If a size was
    requested, all sets have it.

    >>> import variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> model = vg.DiverseRegressor(random_state=0).fit(X, X[:, 1] + 0.5 * rng.normal(size=60))
    >>> alternatives_table(model, 2)["features"].tolist()[0]
    ('x1',)
    """
    selection = selection_of(model)
    posterior, selected = selection.posterior, selection.chosen
    labels, groups = np.asarray(posterior.names, dtype=object), selection.groups

    def row(i: int, found: Alternative) -> dict[str, Any]:
        added, removed = np.setdiff1d(found.positions, selected), np.setdiff1d(selected, found.positions)
        pairs = exchanges(posterior.target, groups, removed, added)
        return {
            "rank": i,
            "size": len(found.positions),
            "features": tuple(labels[found.positions]),
            "added": tuple(labels[added]),
            "removed": tuple(labels[removed]),
            "within": tuple((labels[p.gone], labels[p.come]) for p in pairs if p.within),
            "between": tuple((labels[p.gone], labels[p.come]) for p in pairs if not p.within),
            "odds": found.odds,
            "probability": float(np.exp(found.log_prob)),
            "log_evidence": found.log_evidence,
            "log_joint": found.log_joint,
        }

    alternatives = posterior.alternatives(n, size=selection.size)
    return pd.DataFrame([row(i, found) for i, found in enumerate(alternatives, start=1)])


def groups_table(model: Selection | Fitted) -> pd.DataFrame:
    """Groups of features that can replace each other, the most probable first; one row for each member.

    Columns: `group` (1, 2, …); `group_probability`, that at least one member is in the set; `feature`;
    `inclusion_probability` of the feature; `share`, its fraction of their sum; `selected`; `purity`, how alike the two
    least alike members are; `likeness`: by their "columns", by "similarity" (Φ), by "either" of the two, or "alone".

    >>> import variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 3))
    >>> X[:, 1] = X[:, 0] + 0.01 * rng.normal(size=80)  # nearly a copy
    >>> model = vg.DiverseRegressor(random_state=0).fit(X, X[:, 0] + 0.5 * rng.normal(size=80))
    >>> groups_table(model)[["group", "feature", "likeness"]].to_numpy().tolist()
    [[1, 'x0', 'columns'], [1, 'x1', 'columns']]
    """
    found = selection_of(model)
    p = found.posterior.inclusion_prob()
    rows = [
        {
            "group": number,
            "group_probability": group.probability,
            "feature": str(feature),
            "inclusion_probability": p[position],
            "share": share,
            "selected": bool(np.isin(position, found.chosen)),
            "purity": group.purity,
            "likeness": group.likeness,
        }
        for number, group in enumerate(found.groups, start=1)
        for feature, position, share in zip(group.features, group.positions, group.shares, strict=True)
    ]
    return pd.DataFrame(rows, columns=GROUP_COLUMNS)


@one_blas_thread
def frontier_table(model: Selection | Fitted) -> pd.DataFrame:
    """What panels of several sizes lose under several weights of diversity, and how diverse they are; from one fit.

    Columns: `diversity`, `size`, and those of `panel_.curve`. Sizes are half, once and twice that of the chosen set.

    >>> import variegate as vg
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> model = vg.DiverseRegressor(n_features_to_select=2, random_state=0).fit(X, X[:, 1] + 0.5 * X[:, 3])
    >>> frontier_table(model).query("diversity == 1")["size"].tolist()
    [1, 2, 4]
    """
    found = selection_of(model)
    phi, k = found.posterior.target.phi, len(found.chosen) or FEW
    sizes = sorted({size for size in (-(-k // 2), k, 2 * k) if size <= found.candidates.n_units})
    return found.panels().frontier(sizes, DIVERSITIES if phi is not None else (0.0,))


class Findings(NamedTuple):
    """Tables and diagnostics of a selection, computed once so that files, page and terminal agree."""

    selection: pd.DataFrame  # `selection_table`
    alternatives: pd.DataFrame  # `alternatives_table`
    groups: pd.DataFrame  # `groups_table`
    rule: pd.DataFrame  # `panel_.coefficients`
    curve: pd.DataFrame  # `panel_.curve`
    stand_ins: pd.DataFrame  # `panel_.stand_ins()`
    enough: int | None  # features, which need not be more; None: more than the curve has
    diagnostics: Diagnostics


@one_blas_thread
def findings(model: Selection | Fitted, alternatives: int = 5) -> Findings:
    """The tables of a fitted model, and its diagnostics.

    >>> import variegate as vg
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> found = findings(vg.DiverseRegressor(random_state=0).fit(X, X[:, 1]))
    >>> found.selection.loc[0, "feature"], found.diagnostics.converged
    ('x1', True)
    """
    selection = selection_of(model)
    panel = selection.chosen_panel
    return Findings(
        selection_table(selection),
        alternatives_table(selection, alternatives),
        groups_table(selection),
        panel.coefficients,
        panel.curve,
        panel.stand_ins(),
        _enough(selection, panel.curve),
        selection.posterior.diagnostics(),
    )


def _enough(found: Selection, curve: pd.DataFrame) -> int | None:
    """How many features are enough: those chosen, if the data chose how many, or a size of the curve."""
    panel = found.chosen_panel
    if found.size is None and panel.among.is_enough(panel.features):
        return len(panel.features)
    sizes = curve["size"][curve["enough"]]
    return int(sizes.iloc[0]) if len(sizes) else None


def enough_in_words(n: int, enough: int | None, most: int) -> str:
    """Say how many features would be enough, of which n are in the panel; None: more than `most`.

    >>> enough_in_words(4, 6, 10)
    'about 6 would be enough: what is lost is then small against what the model itself does not know'
    """
    against = "against what the model itself does not know"
    if enough is None:
        return f"not even {most} are enough: what is lost is not small {against}"
    if enough == 0:
        return "none is needed: the model predicts next to nothing from them"
    if n != enough:
        return f"about {enough} would be enough: what is lost is then small {against}"
    return f"{n} {'is' if n == 1 else 'are'} enough: what is lost is small {against}"


def coefficient_laws(model: Selection | Fitted, level: float = 0.95) -> dict[str, CoefficientLaw]:
    """The averaged law of the coefficients: {"": law}, or {"[A]": law, …} for more than two classes."""
    if not 0 < level < 1:
        raise ValueError(f"The level must lie strictly between 0 and 1, got {level}.")
    found = selection_of(model)
    laws = {}
    for outcome in found.outcomes:
        terms, dof = coefficient_terms(found, outcome)
        suffix = "" if outcome.label is None else f"[{outcome.label}]"
        laws[suffix] = averaged_law(terms, found.candidates.n_columns, dof, level)
    return laws


class Terms(NamedTuple):
    """The sets that contain a column: their weights, and the location and scale of its coefficient; arrays (n,)."""

    weights: FloatArray
    means: FloatArray
    scales: FloatArray


def averaged_law(terms: dict[int, Terms], n_columns: int, dof: float, level: float) -> CoefficientLaw:
    """Mean and interval for every column; 0 for columns that are in no set."""
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
    below = float(terms.weights @ student_cdf(-terms.means / terms.scales, dof))
    if below < u <= below + atom:
        return 0.0
    v = u if u <= below else u - atom  # what the continuous part must reach
    unit = student_quantile(min(v / terms.weights.sum(), 1.0 - 1e-16), dof)
    low, high = float((terms.means + unit * terms.scales).min()), float((terms.means + unit * terms.scales).max())
    while high - low > 1e-12 * max(abs(low), abs(high)):  # the mixture's quantile lies between its components'
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if terms.weights @ student_cdf((middle - terms.means) / terms.scales, dof) < v:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _roles(candidates: Candidates) -> NDArray[Any]:
    roles = np.full(candidates.n_columns, "screened out", dtype=object)
    roles[candidates.columns], roles[candidates.always] = "candidate", "always included"
    roles[candidates.references] = "reference"
    return roles


def coefficient_terms(found: Selection, outcome: Outcome) -> tuple[dict[int, Terms], float]:
    """For each column of X that is in some set, its coefficient in each such set; and the degrees of freedom."""
    rows: dict[int, list[tuple[float, float, float]]] = {}
    for component, law in zip(outcome.components, outcome.coefficients, strict=True):
        columns = [*found.columns_of(component), *found.candidates.always]
        for column, mean, scale in zip(columns, [*law.mean, *law.covariates], law.scales, strict=True):
            rows.setdefault(int(column), []).append((component.weight, mean, scale))
    return {column: Terms(*np.array(values).T) for column, values in rows.items()}, float(law.dof)


def csv_text(table: pd.DataFrame, **options: Any) -> str:
    """Return a table as CSV; text that a spreadsheet would run as a formula gets a leading apostrophe.

    >>> print(csv_text(pd.DataFrame({"feature": ["=1+1", "-1.6 ± 0.1"], "-x": [1.0, -2.0]})), end="")
    feature,'-x
    '=1+1,1.0
    -1.6 ± 0.1,-2.0
    """
    tame = table.rename(columns=_tame)
    for name, kind in zip(tame.columns, tame.dtypes, strict=True):
        if not pd.api.types.is_numeric_dtype(kind):
            tame[name] = tame[name].map(_tame)
    return str(tame.to_csv(index=False, lineterminator="\n", **options))


def _tame(value: Any) -> Any:
    formula = isinstance(value, str) and value.startswith(FORMULA) and not NUMBER.fullmatch(value)
    return f"'{value}" if formula else value
