"""Screening without loss: start with some columns, then check all others, until none that matters is left out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..candidates import Candidates
from ..design import Design
from ..inference import (
    JOINS,
    ChainSettings,
    Drawn,
    Grid,
    OthersRatio,
    Sample,
    Target,
    certify,
    fitted_ratio,
    grid_of,
    how_many_sets,
)
from ..large import LargeTable, Moments, first_look
from ..likelihoods import sample_weights
from ..screening import strongest
from ..selection import Training
from ..tasks import Task
from ..types import FloatArray, IntArray

LARGE_BYTES = 1 << 30  # larger tables are treated as if they were not in memory
START, FEWEST = 3000, 256  # columns to start with in such a table; with very many rows
START_BYTES = 1 << 29  # largest size of these columns in single precision
# If some columns must join, those with a third of that probability join, too: they might be next, and every round is a
# pass over the table.
JOINS_TOO = 0.001
ROOM = 4  # columns to start with, at least, for each feature requested or expected
ROUNDS = 8  # at most; 2,000 × 10⁶ genotypes with 20 causal ones take five passes


def is_large(X: Any) -> bool:
    """Whether a table in memory is too large to work on all of it all the time."""
    return isinstance(X, np.ndarray) and X.nbytes > LARGE_BYTES


def start(n_rows: int) -> int:
    """Return the number of columns to start with.

    >>> start(2_000), start(1_000_000)
    (3000, 256)
    """
    return int(np.clip(START_BYTES // (4 * n_rows), FEWEST, START))


@dataclass(frozen=True, eq=False)
class Screen:
    """A table after the first pass; not all of its columns are held in memory."""

    table: LargeTable
    y: NDArray[Any]
    weights: FloatArray | None
    moments: Moments
    strengths: FloatArray  # (M,) of each column alone

    @classmethod
    def of(cls, table: LargeTable, task: Task, y: NDArray[Any], weights: FloatArray | None) -> "Screen":
        """Make the first pass: moments of every column, and its score statistics for the outcome."""
        N, w = table.shape[0], sample_weights(weights, table.shape[0])
        null = [terms.derivatives(np.full(N, terms.null)) for terms in task.terms(y)]
        moments, products = first_look(table, w, np.stack([w * here.slope for here in null]))
        information = np.array([float(w @ here.weight) for here in null])
        statistics = np.square(products * moments.inverse_scale) / information[:, None]
        return cls(table, y, weights, moments, np.where(moments.scale > 0, statistics.sum(axis=0), -1.0))

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Columns (M,) that are not constant."""
        return self.moments.scale > 0

    def first(self, n: int, always: IntArray, groups: NDArray[Any] | None) -> NDArray[np.bool_]:
        """Return the columns (M,) to start with: the n strongest, and all columns in groups.

        Columns of a group may matter together and none alone, which univariate statistics do not show.
        """
        strengths = self.strengths.copy()
        strengths[always] = -1.0
        kept = np.zeros(len(strengths), dtype=bool)
        kept[strongest(strengths, min(n, len(strengths)))] = True
        if groups is not None:
            kept |= np.bincount(groups)[groups] > 1
        return kept & (strengths >= 0)

    def left_out(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return the varying columns (M,) that are neither candidates, nor always included, nor references."""
        found = self.varying.copy()
        found[candidates.columns] = found[candidates.always] = found[candidates.references] = False
        return found

    def training(self, candidates: Candidates) -> Training:
        """Return the rows with the candidate columns, loaded into memory."""
        always = candidates.always
        design = Design.of(self.loaded(candidates.columns), sample_weights(self.weights, len(self.y)))
        covariates: Any = self.loaded(always) if len(always) else None
        if sparse.issparse(covariates):
            covariates = covariates.toarray()
        return Training(design, covariates, self.y, self.weights)

    def loaded(self, columns: IntArray) -> Any:
        """Load some columns (N, k), with missing entries at the mean."""
        return filled(self.table.columns(columns), self.moments.centre[columns])

    def outside(
        self, candidates: Candidates, target: Target, found: Sample, settings: ChainSettings, tilt: FloatArray | None
    ) -> tuple[FloatArray, OthersRatio]:
        """Return the odds of every column left out (M,), 0 for the others, and their likelihood ratio, in one pass."""
        odds, ratio, left_out = np.zeros(self.table.shape[1]), 0.0, self.left_out(candidates)
        if not left_out.any():
            return odds, OthersRatio()
        drawn, grid = _drawn(target, found, settings, self.table.shape[0])
        work = certify(drawn, grid, tilt, self.moments, left_out, JOINS_TOO)
        for columns, part in self.table.over_columns(work):
            odds[columns] = part.odds
            ratio = ratio + part.ratio
        return odds, fitted_ratio(drawn, np.asarray(ratio), int((odds <= JOINS_TOO)[left_out].sum()))


def _drawn(target: Target, found: Sample, settings: ChainSettings, n_rows: int) -> tuple[list[Drawn], Grid]:
    """Return some of the sets, each with its hyperparameters, and the grid of prior sizes."""
    n = how_many_sets(found.sets, n_rows)
    some = np.unique(np.linspace(0, len(found.sets) - 1, n).astype(int))
    return [
        Drawn(found.sets[i], _with_hyperparameters(target, found.slab_precisions[i], found.nuisances[i])) for i in some
    ], grid_of(target, settings)


def _with_hyperparameters(target: Target, slab_precision: float, nuisance: float) -> Target:
    target = target.with_slab_precision(float(slab_precision))
    return target.with_nuisance(float(nuisance)) if np.isfinite(nuisance) else target


def joining(odds: FloatArray, most: int) -> NDArray[np.bool_]:
    """Return the columns (M,) that join: none, or the most probable ones, at most `most`."""
    if not (odds > JOINS / (1 - JOINS)).any():
        return np.zeros(len(odds), dtype=bool)
    more = odds > JOINS_TOO / (1 - JOINS_TOO)
    if more.sum() > most:
        more = np.isin(np.arange(len(odds)), strongest(odds, most))
    return more


def filled(values: Any, centre: FloatArray) -> Any:
    """Return columns as float32 or float64, with NaN replaced by the mean; sparse ones, which have none, unchanged."""
    if sparse.issparse(values):
        return values
    wide = values.dtype == np.float64 or (values.dtype.kind in "iu" and values.dtype.itemsize >= 4)
    X = values.astype(np.float64 if wide else np.float32, copy=False)
    for j in np.flatnonzero(np.isnan(X.sum(axis=0))):
        X[np.isnan(X[:, j]), j] = centre[j]
    return X


def in_new_places(sets: list[IntArray], before: Candidates, now: Candidates, n: int) -> list[IntArray]:
    """Translate n of the sets to the new candidates, as starts of the next chains."""
    some = [sets[i] for i in np.linspace(0, len(sets) - 1, n).astype(int)]
    first = before.columns[np.unique(before.unit, return_index=True)[1]]  # one column of each feature
    place = now.unit[np.searchsorted(now.columns, first)]
    return [np.sort(place[S]) for S in some]
