"""Which features can move in a stretch of the chain, if there are too many to compute all rates at every step.

The scope is an auxiliary variable (as in Jankowiak 2023, "Bayesian variable selection in a million dimensions"): given
the set, its members are in scope, and each other feature m is with probability s_m. So given the scope, a set inside
it has probability proportional to

    p(S | y) Π_{m ∈ S} 1/s_m:

the odds of a feature that is rarely in scope are multiplied by 1/s_m while it is. Features that matter, or could
replace one that does, have s_m = 1; the others take turns. The s_m are chosen during burn-in, from surveys of all
features, and then fixed: a bad choice costs time, not exactness.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ...likelihoods import Neighbours, factorise
from ...types import FloatArray, IntArray
from .model import Model, Position

TURNS = 0.5  # fraction of the scope for features that take turns
BLOCK = 4096  # columns that a survey processes at once


def draw_scope(S: IntArray, scope: FloatArray, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Draw the features (M,) in scope given the set S, with probabilities s (M,)."""
    inside = rng.random(len(scope)) < scope
    inside[S] = True
    return np.asarray(inside)


class Survey(NamedTuple):
    """All features at one set; arrays (M,)."""

    # of being in the set given the others, or after an exchange if the size is fixed; NaN for several columns
    probability: FloatArray
    score: FloatArray  # the same, or the probability of replacing a member if that is higher


def scope_probabilities(score: FloatArray, n: int) -> FloatArray:
    """Probabilities (M,) of being in scope, about n in all: min(1, score/τ + TURNS·n/M)."""
    M = len(score)
    if n >= M:
        return np.ones(M)
    turns = TURNS * n / M
    low, high = 0.0, M * float(score.max()) / n + 1e-300
    for _ in range(100):
        tau = 0.5 * (low + high)
        crowded = np.minimum(1.0, score / tau + turns).sum() > n
        low, high = (tau, high) if crowded else (low, tau)
    return np.asarray(np.minimum(1.0, score / high + turns))


def survey(model: Model, position: Position) -> Survey:
    """Inclusion probability and score of every feature, given the others at this set. O(N|S|M).

    The score ignores the prior's similarity, and uses the best column of a feature with several.
    """
    log_kappa, widths = model.grid.log_kappa[position.at[0]], model.target.widths
    first = np.concatenate([[0], np.cumsum(widths)[:-1]])
    columns = np.concatenate([first[m] + np.arange(widths[m]) for m in position.S] or [[]]).astype(np.int64)
    alone, instead = _column_gains(model, position, columns)
    prior = np.repeat(model.tilt, widths)
    score = expit(alone + prior + log_kappa)
    if len(columns):
        for row, own_prior in zip(instead, prior[columns], strict=True):
            row += prior - own_prior
            row[columns] = -np.inf
            score = np.maximum(score, np.exp(row - np.logaddexp(np.logaddexp.reduce(row), 0.0)))
        score[columns] = 1.0
    if model.target.size is not None:
        several = (widths > 1).any()
        probability = np.full(len(widths), np.nan) if several else _after_exchange(model, position.S, instead)
        return Survey(probability, np.maximum.reduceat(score, first))
    log_odds = alone[first] + model.tilt + log_kappa
    if model.target.prior_has_volume:
        volume = model.target.volume
        known = np.isfinite(volume.log_norms)  # the others have log-odds of −inf
        gains = volume.flip_gains(position.S).gains[known] - 2 * volume.log_norms[known]
        log_odds[known] += model.target.diversity * gains
    probability = np.where(widths == 1, expit(log_odds), np.nan)
    return Survey(probability, np.maximum.reduceat(score, first))


def _column_gains(model: Model, position: Position, columns: IntArray) -> tuple[FloatArray, FloatArray]:
    """Gains of all C columns alone (C,), and of exchanging each of the set's `columns` (k,) for another (k, C)."""
    c, C = model.slab(position.at[1]), int(model.target.widths.sum())
    alone, instead = np.zeros(C), np.zeros((len(columns), C))
    for rows, form in model.gram_rows(position.S, position.auxiliary):
        factor, gains = factorise(rows[:, columns].copy(), form.information[columns], c), np.empty(C)
        for start in range(0, C, BLOCK):  # keeps temporary arrays small
            some = slice(start, start + BLOCK)
            diagonal, information = form.diagonal[some], form.information[some]
            near = Neighbours.of(factor, rows[:, some].copy(), diagonal, information, c, form.noise)
            instead[:, some] += near.exchange_gains(len(columns))
            gains[some] = near.additions()
        gains[columns] = near.removals(len(columns))
        alone += gains
    return alone, instead


def _after_exchange(model: Model, S: IntArray, log_ratio: FloatArray) -> FloatArray:
    """Probability (M,) of being in the set after a random member of S is exchanged.

    `log_ratio` (|S|, M): log-odds of each exchange against none, ignoring similarity; −inf for members.
    """
    mine = np.flatnonzero(model.free[S])
    found = np.zeros(model.target.n_features)
    found[S] = 1.0
    if model.target.prior_has_volume and len(mine):
        own = 2 * model.target.volume.log_norms
        with np.errstate(invalid="ignore"):  # zero rows, which are never in a set
            gains = model.target.volume.exchange_gains(S) - (own - own[S][:, None])
            log_ratio = log_ratio + model.target.diversity * gains
    for j in mine:
        row = np.where(model.free, np.nan_to_num(log_ratio[j], nan=-np.inf), -np.inf)
        row[S[j]] = 0.0
        share = np.exp(row - np.logaddexp.reduce(row)) / len(mine)
        found[S[j]] -= 1.0 / len(mine)
        found += share
    return np.minimum(found, 1.0)
