"""The posterior inside the page: the quadratic form of the most probable features, without rows of data."""

from base64 import b64encode
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..inference import Excerpt, Without
from ..selection import Selection
from ..types import FloatArray, IntArray

LIKELY = 0.3  # above this probability the relatives of a feature are in the page
EXPLAINED, RELATIVES = 20, 10  # such features at most, and relatives of each
KEPT = 400  # features in the page: an answer takes about ten thousand steps, each O(|S| · features)
ROOM = 270_000  # numbers in the page's matrices, eight bytes each


def kept_candidates(
    probability: FloatArray, chosen: IntArray, relatives: IntArray, widths: IntArray, matrices: int
) -> IntArray:
    """Return the sorted positions of the features in the page: all, or the chosen, relatives, and the most probable.

    Relatives, since copies of a nearly certain feature have almost no probability until a reader excludes it.
    """
    order = np.argsort(-probability, kind="stable")
    first = np.concatenate([chosen, relatives, order])
    first = first[np.sort(np.unique(first, return_index=True)[1])]
    columns = np.cumsum(widths[first])
    fitting = int(np.count_nonzero(matrices * columns * (columns + 1) / 2 <= ROOM))
    return np.sort(first[: max(min(KEPT, fitting), len(chosen), 1)]).astype(np.int64)


def relatives_of(found: Selection) -> IntArray:
    """Return the features most correlated with each chosen or probable one, most correlated first. O(NM) for each."""
    p, candidates = found.posterior.inclusion_prob(), found.candidates
    likely = np.union1d(found.chosen, np.flatnonzero(p > LIKELY))
    likely = likely[np.argsort(-p[likely], kind="stable")][:EXPLAINED]
    columns = np.flatnonzero(np.isin(candidates.unit, likely))
    if not len(columns):
        return np.empty(0, dtype=np.int64)
    design, weights = found.training.design, found.training.row_weights
    alike = np.abs(design.cross(np.ascontiguousarray((design.columns(columns) * weights[:, None]).T)))
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, :RELATIVES]
    return np.asarray(candidates.unit[nearest.T.ravel()], dtype=np.int64)


def embedded_form(form: Excerpt, probable: IntArray, starts: list[IntArray], without: list[Without]) -> dict[str, Any]:
    """Return the form as JSON; see form.js. Sets are positions among the form's features.

    `probable` is the most probable one.
    """
    grid = form.grid
    return {
        "first": form.first.tolist(),
        "gram": [_triangle(gram, _precision(form)) for gram in form.gram],
        "cosines": _cosines(form),
        "nugget": form.nugget,
        "power": form.power,
        "size": form.size,
        "largest": form.largest,
        "log_kappa": grid.log_kappa.tolist(),
        "log_normalizer": grid.log_normalizer.tolist(),
        "log_c": grid.log_c.tolist(),
        "at": list(form.at),
        "probable": probable.tolist(),
        "starts": [S.tolist() for S in starts],
        "log_prior": grid.log_prior.tolist(),
        **_fitted(form, starts),
        "without": _embedded_without(form, without),
    }


def _fitted(form: Excerpt, sets: list[IntArray]) -> dict[str, Any]:
    """Return what each form has of its own; the typical evidence of its sets shows when other sets are unlike them."""
    return {
        "information": [as_text(row) for row in form.information],
        "noise": form.noise.tolist(),
        "tilt": as_text(form.tilt),
        "typical": float(np.mean([form.log_evidence(S, form.at[1]) for S in sets])),
    }


class _Steps(NamedTuple):
    """A matrix as a combination of others, and whole steps from there."""

    weights: FloatArray
    step: float
    steps: FloatArray  # whole numbers from −127 to 127

    @classmethod
    def of(cls, G: FloatArray, near: list[FloatArray]) -> "_Steps":
        columns = np.stack([H.ravel() for H in near])
        weights: FloatArray = np.linalg.lstsq(columns @ columns.T, columns @ G.ravel())[0].astype(np.float64)
        left = G - np.tensordot(weights, np.stack(near), 1)
        step = max(float(np.abs(left).max()) / 127, 1e-300)
        return cls(weights, step, np.rint(left / step))

    def gram(self, near: list[FloatArray]) -> FloatArray:
        """Return the matrix as the page will have it."""
        return np.asarray(np.tensordot(self.weights, np.stack(near), 1) + self.step * self.steps)


def _embedded_without(form: Excerpt, without: list[Without]) -> list[dict[str, Any]]:
    """Return the forms as differences from others.

    The Gram matrices of a form without one feature are those of the first form times a number, plus 8-bit steps;
    without two features, a combination of the first form's and those without each of the two, plus steps. (Steps from
    the first form itself, without a factor, were too coarse: off by .08 where the form is off by .05.)
    """
    known: dict[tuple[int, ...], FloatArray] = {(): form.gram}
    found = {}
    for one in sorted(without, key=lambda one: len(one.features)):
        near = [known[()], *(known[(m,)] for m in one.features if len(one.features) > 1)]
        parts = [_Steps.of(G, [gram[k] for gram in near]) for k, G in enumerate(one.form.gram)]
        known[one.features] = np.stack([part.gram([gram[k] for gram in near]) for k, part in enumerate(parts)])
        found[one.features] = {
            "features": list(one.features),
            "weights": [part.weights.tolist() for part in parts],
            "step": [part.step for part in parts],
            "steps": [_triangle(part.steps, "<i1") for part in parts],
            "curve": (one.form.grid.log_prior - form.grid.log_prior)[0].tolist(),
            **_fitted(one.form, [one.sets[i] for i in np.linspace(0, len(one.sets) - 1, 40).astype(int)]),
        }
    return [found[one.features] for one in without]


def _cosines(form: Excerpt) -> str | None:
    """Return the cosines of Φ; "gram" if they are those of the Gram matrix, as for similarity by columns."""
    if form.cosines is None:
        return None
    if len(form.gram) == 1 and form.gram.shape[1:] == form.cosines.shape:
        lengths = np.sqrt(np.diagonal(form.gram[0]))
        own = form.gram[0] / np.outer(lengths, lengths) if lengths.all() else np.zeros_like(form.cosines)
        if np.abs(own - form.cosines).max() < 1e-9:
            return "gram"
    return _triangle(form.cosines, _precision(form))


def _precision(form: Excerpt) -> str:
    return "<f8" if form.exact else "<f4"


def _triangle(matrix: FloatArray, kind: str = "<f8") -> str:
    return as_text(matrix[np.tril_indices(len(matrix))], kind)


def as_text(values: NDArray[Any], kind: str = "<f8") -> str:
    """Return the numbers in Base64, least significant byte first."""
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
