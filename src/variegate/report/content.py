"""What the page says about the selection, as values for the template."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..groups import Group
from ..inference import best_exchanges
from ..posterior import Posterior
from ..selection import Selection
from ..side_information import similarity_features
from ..similarity import unit_rows
from ..tables import listed_columns
from ..types import FloatArray, IntArray

RUNNERS_UP = 8  # features shown after the chosen ones
ROWS = 200  # in the table of chosen features
EXPLAINED = 30  # groups shown that have a chosen feature
MEMBERS = 12  # shown of each group
CHANGES = 8  # of each kind, shown of an alternative set
LIKELY = 0.1  # of the chosen feature's probability; less probable members are not called replacements


class Row(NamedTuple):
    """A column in the table of the chosen features, or of the panel's rule."""

    column: int  # in X
    feature: str
    group: Group | None
    probability: float
    coefficient: float
    lower: float
    upper: float
    of_class: str | None  # this class against the rest, if there are more than two
    role: str  # "chosen", "always included" or "runner-up"


class Member(NamedTuple):
    """A feature of a group."""

    feature: str
    probability: float
    chosen: bool


class Replacement(NamedTuple):
    """The most probable exchange of a chosen feature, and the odds of the set with it."""

    feature: str
    odds: float


class Stand(NamedTuple):
    """A group of features that can replace each other, one of which may be chosen."""

    chosen: str | None
    probability: float  # that at least one is in the set
    members: list[Member]  # the chosen first, then the most probable
    purity: float
    likeness: str
    replacement: Replacement | None  # of the chosen one

    @property
    def stand_ins(self) -> list[str]:
        """Members other than the chosen one with the same information that are not far less probable."""
        if self.likeness == "similarity":
            return []
        least = LIKELY * max((member.probability for member in self.members if member.chosen), default=1.0)
        return [m.feature for m in self.members if not m.chosen and m.probability >= least]


def unit_similarity(found: Selection) -> FloatArray:
    """Return unit rows (U, d) whose products are the features' similarities: from the fit's Φ, or from the columns."""
    phi = found.posterior.target.phi
    if phi is None:
        data = found.training
        phi = similarity_features("columns", data.design, data.row_weights, found.candidates, None)
    return unit_rows(np.asarray(phi, dtype=np.float64))


def selection_rows(table: pd.DataFrame, found: Selection) -> list[Row]:
    """Return the chosen features and the runners-up of a `selection_table`, most probable first."""
    of_group = group_of_columns(found)
    table = table.assign(column=listed_columns(found))
    candidate = table["role"] == "candidate"
    parts = [
        ("chosen", table[table["selected"] & candidate].head(ROWS)),
        ("always included", table[table["role"] == "always included"].head(ROWS)),
        ("runner-up", table[~table["selected"] & candidate].head(RUNNERS_UP)),
    ]
    rows = [_row(record, role, found.classes, of_group) for role, part in parts for record in part.to_dict("records")]
    return sorted(rows, key=lambda row: -(row.probability if row.group is None else row.group.probability))


def group_of_columns(found: Selection) -> dict[int, Group]:
    """Return the group of each column of X; columns that enter together share one."""
    candidates = found.candidates
    return {
        column: group
        for group in found.groups
        for column in candidates.columns[np.isin(candidates.unit, group.positions)].tolist()
    }


def _row(record: Mapping[str, Any], role: str, classes: NDArray[Any] | None, of_group: Mapping[int, Group]) -> Row:
    suffix, label = "", None
    if "coefficient" not in record and classes is not None:  # several classes: show the one with the largest effect
        label = max(classes, key=lambda c: abs(record[f"coefficient[{c}]"]))
        suffix = f"[{label}]"
    return Row(
        column=record["column"],
        feature=str(record["feature"]),
        group=of_group.get(record["column"]),
        probability=float(record["inclusion_probability"]),
        coefficient=float(record[f"coefficient{suffix}"]),
        lower=float(record[f"lower{suffix}"]),
        upper=float(record[f"upper{suffix}"]),
        of_class=None if label is None else str(label),
        role=role,
    )


def stands(found: Selection) -> list[Stand]:
    """Return the groups, those with a chosen feature first; each part most probable first."""
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
    """Return the most probable exchange of each chosen feature, judged by the target rather than by q."""
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
    """An alternative set, as changes to the chosen set."""

    odds: float
    size: int
    within: list[tuple[str, str]]  # members exchanged for another of their group
    between: list[tuple[str, str]]  # members exchanged for a feature outside their group
    without: list[str]  # members removed
    besides: list[str]  # features added

    @property
    def is_chosen(self) -> bool:
        """Whether nothing changes."""
        return not (self.within or self.between or self.without or self.besides)


def variants(table: pd.DataFrame) -> list[Variant]:
    """Return the rows of an `alternatives_table`."""
    return [_variant(record) for record in table.to_dict("records")]


def _variant(record: Mapping[Any, Any]) -> Variant:
    pairs = [*record["within"], *record["between"]]
    without, besides = list(map(str, record["removed"])), list(map(str, record["added"]))
    for gone, come in pairs:
        without.remove(str(gone))
        besides.remove(str(come))
    return Variant(record["odds"], record["size"], record["within"], record["between"], without, besides)
