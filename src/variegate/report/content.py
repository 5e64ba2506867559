"""What the page says about the selection: values for the template, no HTML."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..estimators import similarity_features
from ..groups import Group
from ..inference import best_exchanges
from ..posterior import Posterior
from ..selection import Selection
from ..similarity import unit_rows
from ..types import FloatArray, IntArray

RUNNERS_UP = 8  # features after the chosen ones
ROWS = 200  # of the table of chosen features
EXPLAINED = 30  # groups with a chosen feature that are shown
MEMBERS = 12  # of a group that are shown
CHANGES = 8  # of an alternative set, of each kind, that are shown
LIKELY = 0.1  # of the probability of the chosen one: what is less probable is no replacement to speak of


class Row(NamedTuple):
    """A feature in the table of the chosen."""

    feature: str
    group: Group | None
    probability: float
    coefficient: float
    lower: float
    upper: float
    of_class: str | None  # which class against the rest, where there are more than two
    role: str  # "chosen", "always included" or "runner-up"


class Member(NamedTuple):
    """A feature of a group."""

    feature: str
    probability: float
    chosen: bool


class Replacement(NamedTuple):
    """What takes the place of a chosen feature in the best set without it, and the odds of that set."""

    feature: str
    odds: float


class Stand(NamedTuple):
    """A group of features that stand in for each other, of which one may be chosen."""

    chosen: str | None
    probability: float  # that at least one is in the set
    members: list[Member]  # the chosen first, then the most probable
    purity: float
    likeness: str
    replacement: Replacement | None  # of the chosen one

    @property
    def stand_ins(self) -> list[str]:
        """Members beside the chosen one that say the same and are not far less probable."""
        if self.likeness == "similarity":
            return []
        least = LIKELY * max((member.probability for member in self.members if member.chosen), default=1.0)
        return [m.feature for m in self.members if not m.chosen and m.probability >= least]


def unit_similarity(found: Selection) -> FloatArray:
    """Unit rows whose products are similarities of the units (U, d): of the Φ of the fit, or else of the columns."""
    phi = found.posterior.target.phi
    if phi is None:
        data = found.training
        phi = similarity_features("columns", data.design, data.row_weights, found.candidates, None)
    return unit_rows(np.asarray(phi, dtype=np.float64))


def selection_rows(table: pd.DataFrame, found: Selection) -> list[Row]:
    """The chosen features and those that come next, most probable first, of a `selection_table`."""
    classes, of_group = found.classes, group_of_columns(found)
    candidate = table["role"] == "candidate"
    parts = [
        ("chosen", table[table["selected"] & candidate].head(ROWS)),
        ("always included", table[table["role"] == "always included"].head(ROWS)),
        ("runner-up", table[~table["selected"] & candidate].head(RUNNERS_UP)),
    ]
    rows = [_row(record, role, classes, of_group) for role, part in parts for record in part.to_dict("records")]
    return sorted(rows, key=lambda row: -(row.probability if row.group is None else row.group.probability))


def group_of_columns(found: Selection) -> dict[str, Group]:
    """The group of each column, by name; columns that enter together have one."""
    names, candidates = found.column_names, found.candidates
    return {
        str(name): group
        for group in found.groups
        for name in names[candidates.columns[np.isin(candidates.unit, group.positions)]]
    }


def _row(record: Mapping[str, Any], role: str, classes: NDArray[Any] | None, of_group: Mapping[str, Group]) -> Row:
    suffix, label = "", None
    if "coefficient" not in record and classes is not None:  # several classes: the one that it says most about
        label = max(classes, key=lambda c: abs(record[f"coefficient[{c}]"]))
        suffix = f"[{label}]"
    return Row(
        feature=str(record["feature"]),
        group=of_group.get(str(record["feature"])),
        probability=float(record["inclusion_probability"]),
        coefficient=float(record[f"coefficient{suffix}"]),
        lower=float(record[f"lower{suffix}"]),
        upper=float(record[f"upper{suffix}"]),
        of_class=None if label is None else str(label),
        role=role,
    )


def stands(found: Selection) -> list[Stand]:
    """The groups, those with a chosen feature first, each part with the most probable first."""
    replaced, p = replacements(found.posterior, found.chosen), found.posterior.inclusion_prob()
    cards = [_stand(group, p, found.chosen, replaced) for group in found.groups]
    return sorted(cards, key=lambda card: card.chosen is None)


def _stand(group: Group, p: FloatArray, chosen: IntArray, replaced: Mapping[int, Replacement]) -> Stand:
    inside = np.isin(group.positions, chosen)
    first = int(group.positions[inside][0]) if inside.any() else -1
    members = [
        Member(str(name), float(p[i]), bool(c))
        for name, i, c in zip(group.features, group.positions, inside, strict=True)
    ]
    return Stand(
        chosen=None if group.chosen is None else str(group.chosen),
        probability=group.probability,
        members=sorted(members, key=lambda member: not member.chosen),
        purity=np.floor(100 * group.purity) / 100,
        likeness=group.likeness,
        replacement=replaced.get(first),
    )


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


class Variant(NamedTuple):
    """An alternative set as changes of the chosen one."""

    odds: float
    size: int
    within: list[tuple[str, str]]  # members exchanged for another of their group
    between: list[tuple[str, str]]  # members exchanged for something else
    without: list[str]  # members left out
    besides: list[str]  # features that come in

    @property
    def is_chosen(self) -> bool:
        """Whether nothing changes."""
        return not (self.within or self.between or self.without or self.besides)


def variants(table: pd.DataFrame) -> list[Variant]:
    """The rows of an `alternatives_table`."""
    return [_variant(record) for record in table.to_dict("records")]


def _variant(record: Mapping[Any, Any]) -> Variant:
    pairs = [*record["within"], *record["between"]]
    without, besides = list(map(str, record["removed"])), list(map(str, record["added"]))
    for gone, come in pairs:
        without.remove(str(gone))
        besides.remove(str(come))
    return Variant(record["odds"], record["size"], record["within"], record["between"], without, besides)


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
    "concordance": (
        "Telling who has the event earlier (concordance)",
        "0.5 is guessing, 1 is perfect.",
    ),
    "D2": ("Predicting the count (D²)", "The share of the deviance that is explained: 0 is nothing, 1 is all."),
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
