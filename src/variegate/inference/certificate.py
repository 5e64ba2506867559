"""Columns that were left out: the probability that each could have, from one pass over all of them.

The posterior was sampled on some columns. Given a few of its sets, the log-odds of every other column follow from
products with a few vectors, and so do exchanges with a member: a column that would matter is found, and may join.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ..large import Block, Moments
from ..likelihoods.flips import Factor, Flips, additions, exchanges, factorise
from ..likelihoods.probe import Probe
from ..likelihoods.protocol import QuadraticForm
from ..types import FloatArray, IntArray

SETS = 24  # of the posterior: with 12 a column of probability 0.02 goes unseen now and then, 48 take twice the time


class Certificate(NamedTuple):
    """How sure it is that no column was left out that matters.

    >>> Certificate(left_out=1000, passes=2, joined=5, largest=0.001, expected=0.02).joined
    5
    """

    left_out: int  # columns
    passes: int  # over the whole table, the first look among them
    joined: int  # columns, after the first look
    largest: float  # probability that any column left out could have
    expected: float  # number of them in a set


class Outside(NamedTuple):
    """Given some sets, averaged over them; arrays (w,)."""

    score: FloatArray  # probability of being in, or of taking the place of a member, if that is larger
    probability: FloatArray  # of being in


@dataclass(frozen=True, eq=False)
class Certify:
    """The work of the pass: of each block the products with the probes, of some columns what follows from them."""

    probes: tuple[Probe, ...]
    sets: tuple[IntArray, ...]  # positions among the probes' columns
    factors: tuple[tuple[Factor, ...], ...]  # of each set, for each probe
    c: float  # slab precision
    log_prior: float  # log-odds of a column
    tilt: FloatArray | None  # (M,) added to these
    log_total: tuple[FloatArray, ...]  # (|S|,) of each set: log Σ of the odds of all exchanges of a member
    moments: Moments

    def of_block(self, values: npt.NDArray[Any], block: Block) -> list[tuple[FloatArray, FloatArray]]:
        """Products with the standardised columns, in single precision."""
        some = self.moments.take(block.columns)
        Z = values.astype(np.float32)
        Z -= some.centre.astype(np.float32)
        Z *= some.inverse_scale.astype(np.float32)
        np.nan_to_num(Z, copy=False)
        squares = np.square(Z)
        return [(p.rows[:, block.rows] @ Z, p.squares[:, block.rows] @ squares) for p in self.probes]

    def of_columns(self, parts: Sequence[list[tuple[FloatArray, FloatArray]]], columns: slice) -> Outside:
        """Score and probability of each column."""
        summed = [_summed(of_probe) for of_probe in zip(*parts, strict=True)]
        prior = self.log_prior + (0.0 if self.tilt is None else self.tilt[columns])
        constant = self.moments.scale[columns] == 0
        score, probability = np.zeros((2, len(constant)))
        for k in range(len(self.sets)):
            alone, instead = self.gains(k, summed)
            p = np.where(constant, 0.0, expit(alone + prior))
            probability += p
            for row, total in zip(instead, self.log_total[k], strict=True):
                # the log-odds of the member that leaves are part of the total
                p = np.maximum(
                    p, np.where(constant, 0.0, np.exp(np.minimum(row + prior - self.log_prior - total, 0.0)))
                )
            score += p
        return Outside(score / len(self.sets), probability / len(self.sets))

    def gains(self, k: int, products: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
        """Of set k: changes of log p(y | S) when each column comes in (w,), or takes a member's place (|S|, w)."""
        alone, instead = np.zeros(1), np.zeros((1, 1))
        for probe, factor, (cross, squares) in zip(self.probes, self.factors[k], products, strict=True):
            gram, form = probe.form(cross, squares)
            rows, part = gram[self.sets[k]], (form.diagonal, form.information, self.c)
            alone = alone + 0.5 * np.log(self.c) + evidence_gains(form, factor, additions(factor, rows.copy(), *part))
            instead = instead + evidence_gains(form, factor, exchanges(factor, rows, *part))
        return alone, instead


def _summed(parts: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Products with all rows, from those with the rows of each block."""
    cross, squares = zip(*parts, strict=True)
    return np.sum(cross, axis=0, dtype=np.float64), np.sum(squares, axis=0, dtype=np.float64)


def evidence_gains(form: QuadraticForm, factor: Factor, flips: Flips) -> FloatArray:
    """Changes of the log evidence, without the term ½ log c of the slab."""
    if form.shape == 0.0:
        return np.asarray(0.5 * (flips.explained - flips.log_det))
    left = max(form.rate - 0.5 * factor.explained, form.floor)
    after = np.maximum(1.0 - 0.5 * flips.explained / left, form.floor / left)
    return np.asarray(-0.5 * flips.log_det - form.shape * np.log(after))


def certify(
    likelihood: Any, sets: Sequence[IntArray], log_prior: float, tilt: FloatArray | None, moments: Moments,
    known: tuple[FloatArray, FloatArray | None],
) -> Certify:  # fmt: skip
    """The work that looks at all columns, given sets of columns that the likelihood holds.

    `known` are these columns, standardised (C, N), and what the prior adds to their log-odds (C,).
    """
    U = np.unique(np.concatenate([*sets, np.zeros(1, dtype=np.int64)])).astype(np.int64)
    places = tuple(np.searchsorted(U, S) for S in sets)
    c = float(likelihood.slab_precision)
    probes = likelihood.probes(U, sets)
    factors = tuple(tuple(_factor(probe, S, c) for probe in probes) for S in places)
    Z, own = known
    nothing = tuple(np.zeros(len(S)) for S in places)
    inside = Certify(tuple(probes), places, factors, c, log_prior, tilt, nothing, moments)
    products = [(p.rows @ Z.T, p.squares @ np.square(Z).T) for p in probes]
    totals = tuple(_log_totals(inside.gains(k, products)[1], S, U[S], own) for k, S in enumerate(places))
    light = tuple(_in_single_precision(probe) for probe in probes)
    return Certify(light, places, factors, c, log_prior, tilt, totals, moments)


def _factor(probe: Probe, S: IntArray, c: float) -> Factor:
    A = probe.gram[np.ix_(S, S)].copy()
    A.flat[:: len(A) + 1] += c
    return factorise(A, probe.information[S])


def _log_totals(instead: FloatArray, S: IntArray, columns: IntArray, tilt: FloatArray | None) -> FloatArray:
    """log Σ of the odds of all exchanges of each member with a column that the likelihood holds, or with none."""
    if not len(S):
        return np.zeros(0)
    rows = np.array(instead if tilt is None else instead + (tilt - tilt[columns][:, None]))
    rows[:, columns] = -np.inf
    return np.asarray(np.logaddexp(0.0, np.logaddexp.reduce(rows, axis=1)))


def _in_single_precision(probe: Probe) -> Probe:
    rows, squares = probe.rows.astype(np.float32), probe.squares.astype(np.float32)
    return replace(probe, rows=rows, squares=squares)  # type: ignore[arg-type]
