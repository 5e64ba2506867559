"""The map of features: similar features near each other.

It shows nearest neighbours rather than all distances: among hundreds of features nearly all pairs are equally
dissimilar, which no plane can show. Springs along the links, repulsion elsewhere, from a fixed start, so the same
model gives the same map.
"""

from typing import Any, NamedTuple

import numpy as np

from ..types import FloatArray, IntArray

Box = tuple[float, float, float, float]

NODES = 90
AROUND = 3  # relatives of each chosen feature
LINKS = 3  # nearest neighbours
ALIKE = 0.25  # smallest similarity for which a link is drawn
LABELS = 40
WIDTH, HEIGHT, MARGIN = 760.0, 520.0, 34.0
LETTER, LINE = 8.0, 14.0  # width and height of a letter; gene names are in capitals
EDGE = 10.0  # margin along the frame without labels


class Node(NamedTuple):
    """A feature on the map; `label` is None if there is no room or need for one."""

    unit: int
    feature: str
    x: float
    y: float
    radius: float
    probability: float
    chosen: bool
    label: "Label | None"


class Label(NamedTuple):
    """The position of a name."""

    x: float
    y: float
    anchor: str


class Link(NamedTuple):
    """Two similar features."""

    x1: float
    y1: float
    x2: float
    y2: float
    similarity: float


class SimilarityMap(NamedTuple):
    """Nodes and links in a frame of `width` × `height`; `of` features in all."""

    nodes: list[Node]
    links: list[Link]
    width: float
    height: float
    of: int


def similarity_map(similarity: FloatArray, probability: FloatArray, chosen: IntArray, names: Any) -> SimilarityMap:
    """Place the chosen features, their relatives and the most probable others; `similarity` has unit rows (U, d)."""
    units = shown_units(similarity, probability, chosen)
    alike = np.abs(similarity[units] @ similarity[units].T)
    np.fill_diagonal(alike, 0.0)
    pairs = linked(alike)
    places = framed(layout(alike, pairs))
    radii = 3.0 + 7.0 * np.sqrt(probability[units])
    in_set = np.isin(units, chosen)
    shown = [str(names[u]) for u in units]
    first = np.lexsort([-probability[units], ~in_set])[:LABELS]
    labels = labelled(places, radii, shown, [i for i in first if in_set[i] or probability[units[i]] > 0.05])
    ends = places.round(1).tolist()
    nodes = [
        Node(
            unit=int(u),
            feature=shown[i],
            x=ends[i][0],
            y=ends[i][1],
            radius=round(float(radii[i]), 1),
            probability=float(probability[u]),
            chosen=bool(in_set[i]),
            label=labels.get(i),
        )
        for i, u in enumerate(units)
    ]
    links = [Link(ends[i][0], ends[i][1], ends[j][0], ends[j][1], float(alike[i, j])) for i, j in pairs]
    return SimilarityMap(nodes, links, WIDTH, HEIGHT, len(probability))


def shown_units(similarity: FloatArray, probability: FloatArray, chosen: IntArray) -> IntArray:
    """Return the chosen features, the nearest to each, then the most probable: NODES in all, sorted."""
    order = np.argsort(-probability, kind="stable")
    first = chosen[np.argsort(-probability[chosen], kind="stable")][: NODES // 2]
    near = [np.argsort(-np.abs(similarity @ similarity[u]), kind="stable")[: AROUND + 1] for u in first]
    wanted = np.concatenate([first, *near, order]).astype(np.int64)
    _, where = np.unique(wanted, return_index=True)
    return np.sort(wanted[np.sort(where)][:NODES])


def linked(alike: FloatArray) -> list[tuple[int, int]]:
    """Return the pairs of which one is among the nearest of the other."""
    near = np.argsort(-alike, axis=1, kind="stable")[:, :LINKS]
    pairs = {tuple(sorted((i, int(j)))) for i in range(len(alike)) for j in near[i] if alike[i, j] >= ALIKE}
    return sorted((i, j) for i, j in pairs)


def layout(alike: FloatArray, pairs: list[tuple[int, int]], rounds: int = 400) -> FloatArray:
    """Place nodes (n, 2) by springs and repulsion (Fruchterman & Reingold 1991), starting from a spiral."""
    n = len(alike)
    if n < 2:
        return np.zeros((n, 2))
    turn = np.arange(n) * 2.399963  # the golden angle spreads them evenly
    rank = np.argsort(np.argsort(np.linalg.eigh(alike)[1][:, -1], kind="stable"))
    places = np.sqrt(rank + 0.5)[:, None] * np.column_stack([np.cos(turn[rank]), np.sin(turn[rank])]) / np.sqrt(n)
    pull = np.zeros((n, n))
    for i, j in pairs:
        pull[i, j] = pull[j, i] = alike[i, j]
    spacing = 1.6 / np.sqrt(n)
    for step in range(rounds):
        gap = places[:, None] - places[None]
        distance = np.maximum(np.sqrt((gap**2).sum(axis=2)), 1e-3)
        force = spacing**2 / distance**2 - pull * distance / spacing
        move = (gap * force[:, :, None]).sum(axis=1) - 0.9 * places
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        places += move / length * np.minimum(length, 0.15 * (1 - step / rounds) + 1e-4)
    return np.asarray(places)


def framed(places: FloatArray) -> FloatArray:
    """Stretch the places to the frame."""
    low, high = places.min(axis=0, initial=0.0), places.max(axis=0, initial=0.0)
    span = np.where(high > low, high - low, 1.0)
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    return np.asarray(MARGIN + (places - low) / span * room)


def labelled(places: FloatArray, radii: FloatArray, names: list[str], order: Any) -> dict[int, Label]:
    """Place each name right, left, above or below its node, where it hides least; some get no place."""
    boxes: list[Box] = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(places, radii, strict=True)]
    found: dict[int, Label] = {}
    for i in order:
        (x, y), r = places[i], radii[i] + 4
        w = LETTER * min(len(names[i]), 22)
        options = [
            (Label(x + r, y + 4, "start"), (x + r, y - 7, x + r + w, y + 7)),
            (Label(x - r, y + 4, "end"), (x - r - w, y - 7, x - r, y + 7)),
            (Label(x, y - r - 1, "middle"), (x - w / 2, y - r - LINE, x + w / 2, y - r)),
            (Label(x, y + r + 10, "middle"), (x - w / 2, y + r, x + w / 2, y + r + LINE)),
        ]
        costs = [_hidden(box, boxes) for _, box in options]
        best = int(np.argmin(costs))
        if costs[best] < 0.6 * w * LINE:
            label, box = options[best]
            found[i] = Label(round(float(label.x), 1), round(float(label.y), 1), label.anchor)
            boxes.append(box)
    return found


def _hidden(box: Box, others: list[Box]) -> float:
    """Return the area of a box that others cover, plus three times the area outside the frame."""
    x0, y0, x1, y1 = box
    covered = sum(max(min(x1, b[2]) - max(x0, b[0]), 0) * max(min(y1, b[3]) - max(y0, b[1]), 0) for b in others)
    wide, high = min(x1, WIDTH - EDGE) - max(x0, EDGE), min(y1, HEIGHT - EDGE) - max(y0, EDGE)
    inside = max(wide, 0) * max(high, 0)
    return float(covered + 3 * ((x1 - x0) * (y1 - y0) - inside))
