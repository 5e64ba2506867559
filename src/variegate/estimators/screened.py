"""Screening that loses nothing: some columns first, then a look at all, until none that matters is left out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..candidates import Candidates
from ..design import Design
from ..inference import Fit, Sample
from ..inference.certificate import SETS, Outside, certify
from ..large import LargeTable, Moments, first_look
from ..selection import Training
from ..tasks import Task
from ..types import FloatArray, IntArray

START = 3000  # columns to begin with in a table that is not in memory
# A column joins if it could have this probability: a tenth of the error that probabilities are known to.
JOINS = 0.003
ROOM = 4  # columns to begin with, at least, for each feature that is asked for or expected
QUICK = 4  # laps of the chains while columns still join
ROUNDS = 10  # at most; 2,000 × 10⁶ genotypes with 20 causal ones take three


@dataclass(frozen=True, eq=False)
class Screen:
    """A table of which not all columns are held in memory, after the first look at it."""

    table: LargeTable
    y: NDArray[Any]
    weights: FloatArray | None
    moments: Moments
    strengths: FloatArray  # (M,) of each column alone

    @classmethod
    def of(cls, table: LargeTable, task: Task, y: NDArray[Any], weights: FloatArray | None) -> "Screen":
        """Look at every column once: moments, and the score statistics of the outcome."""
        N, w = table.shape[0], np.ones(table.shape[0]) if weights is None else weights
        null = [terms.derivatives(np.full(N, terms.null)) for terms in task.terms(y)]
        moments, products = first_look(table, w, np.stack([w * here.slope for here in null]))
        information = np.array([float(w @ here.weight) for here in null])
        statistics = np.square(products * moments.inverse_scale) / information[:, None]
        return cls(table, y, weights, moments, np.where(moments.scale > 0, statistics.sum(axis=0), -1.0))

    def training(self, candidates: Candidates) -> Training:
        """The rows with the candidate columns, these in memory."""
        always = candidates.always
        return Training(
            Design(
                self.loaded(candidates.columns),
                self.moments.centre[candidates.columns],
                self.moments.inverse_scale[candidates.columns],
            ),
            self.loaded(always).astype(np.float64) if len(always) else None,
            self.y,
            self.weights,
        )

    def loaded(self, columns: IntArray) -> NDArray[Any]:
        """Some columns (N, k), missing entries at the mean."""
        return filled(self.table.columns(columns), self.moments.centre[columns])

    def outside(
        self, candidates: Candidates, training: Training, found: Sample | Fit, tilt: FloatArray | None
    ) -> Outside:
        """Score and probability of every column (M,), 0 for those that are candidates or always in. One pass."""
        some = [found.sets[i] for i in np.unique(np.linspace(0, len(found.sets) - 1, SETS).astype(int))]
        sets = [np.flatnonzero(np.isin(candidates.unit, S)) for S in some]
        Z = training.design.column_rows(np.arange(len(candidates.columns)))
        own = None if tilt is None else tilt[candidates.columns]
        work = certify(found.target.likelihood, sets, found.target.prior_shift, tilt, self.moments, (Z, own))
        score, probability = np.zeros((2, self.table.shape[1]))
        for columns, part in self.table.over_columns(work):
            score[columns], probability[columns] = part
        for values in (score, probability):
            values[candidates.columns] = values[candidates.always] = 0.0
        return Outside(score, probability)


def filled(values: NDArray[Any], centre: FloatArray) -> NDArray[Any]:
    """Columns as float32 or float64, NaN replaced by the mean."""
    X = values.astype(np.float64 if values.dtype in (np.float64, np.int64, np.int32) else np.float32)
    gone = np.isnan(X)
    return np.where(gone, centre.astype(X.dtype), X) if gone.any() else X


def in_new_places(sets: list[IntArray], before: Candidates, now: Candidates, n: int) -> list[IntArray]:
    """Some of the sets of features, as features of more candidates: where the next chains begin."""
    some = [sets[i] for i in np.linspace(0, len(sets) - 1, n).astype(int)]
    first = before.columns[np.unique(before.unit, return_index=True)[1]]  # a column of each unit
    place = now.unit[np.searchsorted(now.columns, first)]
    return [np.sort(place[S]) for S in some]
