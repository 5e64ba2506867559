"""Groups of features that can replace each other: "one of these four, 0.98"."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .checks import check_share
from .inference import Sample, Target
from .sets import NOTHING
from .similarity import unit_rows
from .types import FloatArray, IntArray

MOST = 2000  # only the most probable features are considered, since their correlations are held in memory
RARE = 1e-3  # less probable features are in no group
# A member is at least INSTEAD times as probable in sets without another member as in sets with it: 1 is independence,
# and exact copies under a DPP prior have an infinite ratio. Or the two are together in at most CHANCE of the sets,
# which a few hundred sets cannot tell from never.
INSTEAD, CHANCE = 2.0, 0.005
COLUMN_BYTES = 1 << 27  # memory limit for the columns whose correlations are computed


class Group(NamedTuple):
    """Features of which a set usually has one.

    >>> pair = Group(np.array(["a", "b"]), np.array([0, 1]), np.array([0.6, 0.4]), 0.98, 0.9, "a", "columns")
    >>> f"{pair.probability:.2f}: {' or '.join(pair.features)}"
    '0.98: a or b'
    """

    features: npt.NDArray[Any]  # names, or positions if there are none; the most probable first
    positions: IntArray  # of the features; in an estimator their columns of X, of a block its first one
    shares: FloatArray  # the members' probabilities, scaled to sum to one
    probability: float  # that at least one is in the set
    purity: float  # likeness of the two least alike members, from 0 to 1; 1 for a single feature
    chosen: Any  # the member that was chosen, or None
    likeness: str  # what makes them alike: "columns", "similarity" (Φ), or "either"; "alone" for one feature


class Exchange(NamedTuple):
    """A member of one set that another set exchanges for another feature.

    >>> Exchange(0, 3, within=True).come
    3
    """

    gone: int  # position
    come: int
    within: bool  # both are in one group, or the new one is in no group and a copy of every member of that group


@dataclass(frozen=True)
class Likeness:
    """How alike features are: absolute correlations of their columns, and cosines of their rows of Φ."""

    columns: FloatArray | None  # (m, m)
    similarity: FloatArray | None  # (m, m)
    least: float  # features with at least this likeness are alike

    @cached_property
    def values(self) -> FloatArray:
        """The larger of the two likenesses (m, m)."""
        known = [part for part in (self.columns, self.similarity) if part is not None]
        return np.asarray(np.maximum.reduce(known))

    def alike(self, i: int, seen: "Members") -> npt.NDArray[np.bool_]:
        """Which features (m,) can replace i: they are like it, and sets rarely contain both."""
        found = self.values[i] >= self.least
        found[i] = False
        found[found] = seen.apart(i, np.flatnonzero(found))
        return np.asarray(found)

    def holding(self, members: IntArray) -> tuple[float, str]:
        """Purity of a group, and what makes its members alike."""
        if len(members) == 1:
            return 1.0, "alone"
        pairs = np.ix_(members, members)
        if self.columns is not None and self.columns[pairs].min() >= self.least:
            return float(self.columns[pairs].min()), "columns"
        if self.similarity is not None and self.similarity[pairs].min() >= self.least:
            return float(self.similarity[pairs].min()), "similarity"
        return float(self.values[pairs].min()), "either"


def likeness_of(target: Target, features: IntArray, least: float) -> Likeness:
    """Likeness of some features, from the columns and the similarity of the target. O(m²(N + d))."""
    columns = similarity = None
    if target.has_forms:
        columns = _correlations(target, features)
    if target.phi is not None:
        rows = unit_rows(np.asarray(target.phi[features], dtype=np.float64))
        similarity = np.abs(rows @ rows.T)
        if columns is not None and np.abs(columns - similarity).max(initial=0.0) < 0.05:
            similarity = None  # Φ comes from the columns
    if columns is None and similarity is None:
        columns = np.eye(len(features))
    return Likeness(columns, similarity, least)


def _correlations(target: Target, features: IntArray) -> FloatArray:
    """Absolute correlations; the largest one for features with several columns."""
    r = np.abs(_cosines(target, features))
    ends = np.cumsum(target.widths[features])
    starts = np.concatenate([[0], ends[:-1]])
    return np.asarray(np.maximum.reduceat(np.maximum.reduceat(r, starts, axis=0), starts, axis=1))


def _cosines(target: Target, features: IntArray) -> FloatArray:
    """Cosines of the columns of some features, a few at a time if there are very many rows."""
    few = max(8, COLUMN_BYTES // (8 * target.standardised(features[:1]).shape[1]))
    parts = [features[start : start + few] for start in range(0, len(features), few)]
    rows = []
    for part in parts:
        Z = unit_rows(target.standardised(part))
        products = (
            Z @ (Z if other is part else unit_rows(target.standardised(other))).T  # one part of them in memory
            for other in parts
        )
        rows.append(np.hstack(list(products)))
    return np.vstack(rows)


@dataclass(frozen=True)
class Members:
    """Which of the m considered features are in which set."""

    present: npt.NDArray[np.float32]  # (n, m) ones and zeros
    weights: FloatArray  # (n,) of the sets
    probability: FloatArray  # (m,)

    def any_of(self, members: list[int]) -> float:
        """P(at least one is in the set): the sum of their probabilities, minus the excess from sets with several."""
        several = np.maximum(self.present[:, members].sum(axis=1) - 1.0, 0.0)
        p = self.probability[members]
        return float(np.clip(p.sum() - self.weights @ several, p.max(), 1.0))

    def raises(self, members: list[int]) -> FloatArray:
        """How much each feature (m,) would raise `any_of`."""
        some = self.present[:, members].any(axis=1)
        together = self.weights[some].astype(np.float32) @ self.present[some]
        return np.asarray(self.probability - together)

    def apart(self, i: int, others: IntArray) -> npt.NDArray[np.bool_]:
        """Which of the others are much more probable in sets without i than in sets with it."""
        rows, p = self.present[:, i] > 0, self.probability
        together = self.weights[rows].astype(np.float32) @ self.present[np.ix_(rows, others)]
        without = np.maximum(p[others] - together, 0.0)
        instead = INSTEAD * together * (1 - p[i]) < without * p[i]
        return np.asarray(instead | (together <= CHANCE))


def find_groups(seen: Members, likeness: Likeness, chosen: IntArray, level: float, threshold: float) -> list[IntArray]:
    """Groups as positions among the m features, the most probable group first.

    Each group starts with the most probable feature that is in no group yet. Of the features that can replace every
    member, the one that most raises the probability of the group is added, until that reaches `level`; or, if all
    features that can replace the first one do not reach it together, `level` times what they reach. Then, if the group
    has no chosen feature, a chosen one that can replace every member is added. Two chosen features are never in one
    group: in the chosen set, neither replaces the other. Groups less probable than `threshold` are dropped, unless
    they contain a chosen feature. O(m n) per member.
    """
    free = np.ones(len(seen.probability), dtype=bool)
    groups = []
    for first in np.argsort(-seen.probability, kind="stable").tolist():
        if free[first]:
            members = _grown(first, free, seen, likeness, chosen, level)
            if seen.any_of(members) >= threshold or np.isin(members, chosen).any():
                groups.append(members)
                free[members] = False
    groups.sort(key=lambda members: (-seen.any_of(members), members[0]))
    return [np.array(sorted(g, key=lambda i: (-seen.probability[i], i)), dtype=np.int64) for g in groups]


def _grown(
    first: int, free: npt.NDArray[np.bool_], seen: Members, likeness: Likeness, chosen: IntArray, level: float
) -> list[int]:
    is_chosen = np.isin(np.arange(len(free)), chosen)
    members, alike = [first], _replacing(first, free, seen, likeness, is_chosen)
    likeliest = chosen[alike[chosen]][np.argsort(-seen.probability[chosen[alike[chosen]]], kind="stable")]
    possible = np.setdiff1d(np.flatnonzero(alike), likeliest[1:])  # of the chosen features only one can join
    reach = seen.any_of([first, *possible.tolist()])
    enough = level if reach >= level else level * reach
    while alike.any() and seen.any_of(members) < enough:
        gains = np.where(alike, seen.raises(members), -np.inf)
        best = int(gains.argmax())
        if gains[best] <= 0:
            break
        members.append(best)
        alike = _replacing(best, alike, seen, likeness, is_chosen)
    more = chosen[alike[chosen]]
    return [*members, int(more[np.argmax(seen.probability[more])])] if len(more) else members


def _replacing(
    i: int, others: npt.NDArray[np.bool_], seen: Members, likeness: Likeness, is_chosen: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which of the others can replace i; two chosen features never do."""
    found = others & likeness.alike(i, seen)
    return found & ~is_chosen if is_chosen[i] else found


def groups_of(
    fit: Sample, best: IntArray, labels: npt.NDArray[Any], level: float, threshold: float, purity: float
) -> list[Group]:
    """Groups of a fit, among features called `labels` (M,); see `Posterior.groups`."""
    for value, what in ((level, "level"), (threshold, "threshold"), (purity, "purity")):
        check_share(value, what)
    p = fit.inclusion
    order = np.argsort(-p, kind="stable")[:MOST]
    some = np.union1d(order[p[order] >= RARE], best).astype(np.int64)
    if not len(some):
        return []
    seen = Members(_present(fit.sets, some), fit.weights, p[some])
    likeness = likeness_of(fit.target, some, purity)
    found = find_groups(seen, likeness, np.searchsorted(some, best), level, threshold)
    return [_described(members, some, seen, likeness, best, labels) for members in found]


def numbered(groups: list[Group], numbers: IntArray) -> list[Group]:
    """The groups with other numbers (M,) as positions."""
    return [group._replace(positions=numbers[group.positions]) for group in groups]


def _present(sets: list[IntArray], some: IntArray) -> npt.NDArray[np.float32]:
    found = np.zeros((len(sets), len(some)), dtype=np.float32)
    for row, S in zip(found, sets, strict=True):
        row[np.isin(some, S, assume_unique=True)] = 1.0
    return found


def _described(
    members: IntArray, some: IntArray, seen: Members, likeness: Likeness, best: IntArray, labels: npt.NDArray[Any]
) -> Group:
    positions, p = some[members], seen.probability[members]
    purity, kind = likeness.holding(members)
    among = positions[np.isin(positions, best)]
    return Group(
        features=labels[positions],
        positions=positions,
        shares=p / p.sum() if p.sum() > 0 else np.full(len(p), 1 / len(p)),
        probability=seen.any_of(members.tolist()),
        purity=purity,
        chosen=labels[among].tolist()[0] if len(among) else None,
        likeness=kind,
    )


def exchanges(
    target: Target, groups: list[Group], gone: IntArray, come: IntArray, copy: float = 0.9
) -> list[Exchange]:
    """Pair the features removed from a set with those added: within groups first, then the most alike.

    A feature in no group counts as one that a group had no need of, if its likeness with every member reaches `copy`.

    There are min(|gone|, |come|) pairs; each feature is in at most one.
    """
    if not len(gone) or not len(come):
        return []
    members = {int(i): group.positions for group in groups for i in group.positions}
    some = np.unique(np.concatenate([gone, come, *(members.get(int(i), NOTHING) for i in gone)])).astype(np.int64)
    alike = likeness_of(target, some, copy).values
    place = {int(i): n for n, i in enumerate(some)}

    def pair(i: int, j: int) -> tuple[bool, float]:
        group = members.get(i, np.array([i]))
        joins = j in group or (j not in members and all(alike[place[int(h)], place[j]] >= copy for h in group))
        return bool(joins), float(alike[place[i], place[j]])

    pairs = sorted(((*pair(i, j), i, j) for i in gone.tolist() for j in come.tolist()), key=lambda p: (-p[0], -p[1]))
    found: list[Exchange] = []
    for within, _, i, j in pairs:
        if all(i != other.gone and j != other.come for other in found):
            found.append(Exchange(i, j, within))
    return found
