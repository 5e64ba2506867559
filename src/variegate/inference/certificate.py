"""Inclusion probabilities of columns that were left out, from one pass over all of them.

The posterior was sampled over some of the columns. A set T with one left-out column m is a set R of sampled features
with one more place, which m fills. With o(j | R) the odds of feature j given R, the odds of m filling the place,
against any sampled feature filling it or none, are

    h(m | R) = o(m | R) / (1 + Σ_j o(j | R)).

Summed over the places of a posterior set S, those of its members and one more,

    odds(m) = E_S [ h(m | S) + Σ_{j ∈ S} h(m | S∖j) ]

are exactly the posterior odds of m if no other left-out column is in the set: each T is counted once, divided among
the sets from which it can be reached in proportion to their probability. The similarity of m is not known: m counts as
unlike all others, where a DPP prior would make it less probable. Sets with several left-out columns are ignored, so
the sum over columns is an estimate: 2.6, 3.1, 7.0 and 7.9 for tables of 10,000 and 100,000 genotypes, where fits of
all columns in memory give 3.2, 3.1, 8.3 and 7.9.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ..large import Moments
from ..likelihoods import SHARED, QuadraticLikelihood
from ..messages import counted
from ..types import FloatArray, IntArray
from .chain.problem import Grid
from .outside import Given, LookOutside, OfOutcome, stacked
from .target import OthersRatio, Target

SETS = 24  # posterior sets: with 12, a column of probability 0.02 is sometimes missed; 48 take twice the time
ROW_BYTES = 1 << 29  # limit for the rows that columns are multiplied with; tables with very many rows get fewer sets
FEWEST = 6  # sets, even if their rows take more
# Columns above this probability must not be left out: a tenth of the default Monte Carlo error of a probability.
JOINS = 0.003


class Certificate(NamedTuple):
    """What the passes over the whole table found: whether a column that matters was left out.

    >>> Certificate(left_out=1000, passes=2, joined=5, largest=0.001, expected=0.02).joined
    5
    """

    left_out: int  # columns
    passes: int  # over the whole table, including the first look
    joined: int  # columns added after the first look
    largest: float  # probability of a left-out column, estimated from some posterior sets
    expected: float  # sum of these probabilities
    imputed: int = 0  # missing entries of the table, replaced by the mean of their column

    def sentence(self) -> str:
        """The certificate in words.

        >>> found = Certificate(left_out=90, passes=2, joined=5, largest=0.001, expected=0.02)
        >>> print(found.sentence())  # doctest: +NORMALIZE_WHITESPACE
        90 columns are left out; none is estimated above a probability of 0.001, all together 0.02 (the table was read
        2 times, and 5 columns were added on the way)
        """
        times, added = counted(self.passes, "time"), counted(self.joined, "column")
        how = f"(the table was read {times}, and {added} {'was' if self.joined == 1 else 'were'} added on the way)"
        if not self.left_out:
            return f"in the end no column is left out {how}"
        columns = "1 column is" if self.left_out == 1 else f"{self.left_out:,} columns are"
        most = f"none is estimated above a probability of {self.largest:.2g}, all together {self.expected:.2g}"
        return f"{columns} left out; {most} {how}"


class Drawn(NamedTuple):
    """A posterior set, and the target with the slab precision and nuisance drawn with it."""

    S: IntArray
    target: Target


def how_many_sets(sets: Sequence[IntArray], n_rows: int) -> int:
    """SETS, or fewer if their rows would take more than ROW_BYTES."""
    each = 4 * n_rows * (float(np.mean([len(S) for S in sets])) + SHARED)
    return int(np.clip(ROW_BYTES // max(each, 1.0), FEWEST, SETS))


def certify(
    drawn: Sequence[Drawn], grid: Grid, tilt: FloatArray | None, moments: Moments, left_out: npt.NDArray[np.bool_],
    counted: float = np.inf,
) -> LookOutside:  # fmt: skip
    """The pass over the columns `left_out` (M,), given posterior sets.

    `tilt` (M,) is added to the columns' log-odds; sums of ratios omit columns with odds above `counted`.
    """
    return stacked([_given(one, grid) for one in drawn], tilt, moments, left_out, counted)


def fitted_ratio(drawn: Sequence[Drawn], ratio: FloatArray, n: int) -> OthersRatio:
    """Fit the mean likelihood ratio of n left-out columns as a power of the slab precision, from their sums (K,)."""
    log_c = np.log([one.target.slab_precision or 1.0 for one in drawn])
    with np.errstate(divide="ignore"):
        log_ratio = np.log(ratio / max(n, 1))
    if not np.isfinite(log_ratio).all():
        return OthersRatio()
    spread = log_c - log_c.mean()
    # for a column unrelated to y the ratio is about √(c/(c + N)): a slope between 0 and ½
    slope = float(np.clip(spread @ log_ratio / (spread @ spread), 0.0, 0.5)) if spread @ spread > 0 else 0.0
    return OthersRatio(float(log_ratio.mean()), slope, (float(log_c.min()), float(log_c.mean()), float(log_c.max())))


def _given(one: Drawn, grid: Grid) -> Given:
    S, target = one
    columns, outcomes = target.columns(S), cast(tuple[QuadraticLikelihood, ...], target.outcomes)
    units = [np.searchsorted(columns, target.columns(S[i : i + 1])) for i in range(len(S))]
    widths = target.widths[S]
    log_addition, log_exchange = place_weights(one, grid)
    return Given(
        outcomes=tuple(OfOutcome.of(one.solution(columns), one.slab_precision, units) for one in outcomes),
        first=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        log_addition=log_addition,
        log_exchange=log_exchange + 0.5 * (1 - widths) * sum(np.log(one.slab_precision) for one in outcomes),
    )


def place_weights(one: Drawn, grid: Grid) -> tuple[float, FloatArray]:
    """Log weights of one more place in the set, and of its members' places (|S|,), averaged over prior sizes.

    The odds of a column taking a place are its likelihood ratio there times the weight.
    """
    S, target = one
    batch = target.evaluate([S])
    log_odds, prior = target.log_odds(batch)[0], target.prior_shift
    own = log_odds[S] - batch.gains[0][S]  # the prior's part: a member's log-odds, and its contribution to ν
    shares = exchange_shares(target, S)
    if target.size is not None:
        return -np.inf, prior - own - shares
    log_kappa, log_p = grid.log_kappa, _log_sizes(len(S), target, grid)
    outside = np.delete(log_odds, S)
    b = np.logaddexp.reduce(outside) if len(outside) else -np.inf
    addition = np.logaddexp.reduce(log_p + log_kappa - np.logaddexp(0.0, log_kappa + b))
    empty = -log_odds[S][:, None] - log_kappa  # the place is left empty
    exchange = np.logaddexp.reduce(log_p - np.logaddexp(shares[:, None], empty), axis=1)
    return float(prior + addition), prior - own + exchange


def exchange_shares(target: Target, S: IntArray) -> FloatArray:
    """log Σ_j p(y, S∖i ∪ j) / p(y, S) for each member i (|S|,), over all features that can take its place."""
    if not len(S):
        return np.zeros(0)
    log_ratio = target.exchanges(S) - target.log_joint(S)
    log_ratio[:, S] = -np.inf
    return np.asarray(np.logaddexp(0.0, np.logaddexp.reduce(log_ratio, axis=1)))


def _log_sizes(size: int, target: Target, grid: Grid) -> FloatArray:
    """Log probabilities (I,) of the prior sizes, given the size of the set and the slab precision."""
    c = target.slab_precision
    j = 0 if c is None else int(np.argmin(np.abs(grid.log_c - np.log(c))))
    log_p = size * grid.log_kappa - grid.log_normalizer + grid.log_prior[:, j]
    return np.asarray(log_p - np.logaddexp.reduce(log_p))
