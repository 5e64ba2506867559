"""Metropolis chains over sets, for a likelihood that is only a function of a set.

A proposal flips one feature or exchanges a member for another feature, each uniformly, so that it is as probable as
its reverse; the evidence of the proposed set decides. Paper: section 3, "as long as p(y|γ) can be approximated".
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ...sets import membership
from ...types import FloatArray, IntArray
from .model import Draw, Model
from .run import FEWEST_AUGMENTED, KEPT, LAP, Chains, Report, average_laps
from .settings import ChainSettings

BURN_IN = 4  # laps that do not count
STRIDE = 4  # each chain starts with this many features more than the previous one

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass
class Walker:
    """One chain: its set as a mask (M,) and the number of its prior size on the grid; sums over this lap."""

    model: Model
    gamma: Mask
    rng: np.random.Generator
    known: dict[bytes, float] = field(default_factory=dict)  # log p(y, S) of the sets that this chain has seen

    def __post_init__(self) -> None:
        self.i, self.log_joint = len(self.model.grid.log_kappa) // 3, self._log_joint(self.gamma)

    def lap(self) -> None:
        """Run a lap and sum over it."""
        M, free, keep_size = len(self.gamma), np.flatnonzero(self.model.free), self.model.target.size is not None
        self.inclusion, self.weight = np.zeros(M), np.full(M, float(LAP))
        self.visits, self.draws, self.steps = np.zeros(self.model.grid.log_prior.shape), list[Draw](), LAP
        for t in range(LAP):
            self._step(proposed(self.gamma, free, self.rng, keep_size=keep_size))
            self.inclusion += self.gamma
            self.visits[self.i, 0] += 1.0
            if (t + 1) % (LAP // KEPT) == 0:
                self.draws.append(Draw(np.flatnonzero(self.gamma), (self.i, 0)))

    def _step(self, gamma: Mask) -> None:
        """Accept the proposed set or keep the old one, then draw the prior size given the set."""
        grid, log_joint, more = self.model.grid, self._log_joint(gamma), int(gamma.sum()) - int(self.gamma.sum())
        if np.log(self.rng.random()) < log_joint - self.log_joint + grid.log_kappa[self.i] * more:
            self.gamma, self.log_joint = gamma, log_joint
        if len(grid.log_kappa) > 1:
            log_p = grid.log_prior[:, 0] + self.gamma.sum() * grid.log_kappa - grid.log_normalizer
            self.i = int(np.argmax(log_p + self.rng.gumbel(size=len(log_p))))

    def _log_joint(self, gamma: Mask) -> float:
        key = gamma.tobytes()
        if key not in self.known:
            self.known[key] = self.model.target.log_joint(np.flatnonzero(gamma))
        return self.known[key]


def proposed(gamma: Mask, free: IntArray, rng: np.random.Generator, *, keep_size: bool) -> Mask:
    """A neighbour of a set: one of the free features (n,) flipped, or one exchanged; the set itself if there is none.

    >>> proposed(np.array([True, False]), np.array([0, 1]), np.random.default_rng(0), keep_size=True)
    array([False,  True])
    """
    found = gamma.copy()
    if len(free) and not keep_size and rng.random() < 0.5:
        found[free[rng.integers(len(free))]] ^= True
        return found
    inside, outside = free[gamma[free]], free[~gamma[free]]
    if len(inside) and len(outside):
        found[inside[rng.integers(len(inside))]] = False
        found[outside[rng.integers(len(outside))]] = True
    return found


def run_metropolis(
    model: Model,
    starts: list[IntArray] | None,
    n: int,
    rng: np.random.Generator,
    settings: ChainSettings,
    report: Report | None = None,
) -> Chains:
    """Run n chains, one after the other, since the function may not be meant for threads."""
    starts = _starts(model, n, rng) if starts is None else starts
    gamma = membership(starts, model.target.n_features)
    walkers = [Walker(model, mask, child) for mask, child in zip(gamma, rng.spawn(len(gamma)), strict=True)]

    def lap() -> tuple[FloatArray, FloatArray]:
        for walker in walkers:
            walker.lap()
        return np.stack([w.inclusion for w in walkers]), np.stack([w.weight for w in walkers])

    for _ in range(BURN_IN):
        lap()
    return average_laps(model, walkers, lap, settings, FEWEST_AUGMENTED, counted=True, report=report)


def _starts(model: Model, n: int, rng: np.random.Generator) -> list[IntArray]:
    """Random sets of sizes 0, 4, 8, …, or of the fixed size."""
    free, least = np.flatnonzero(model.free), len(model.included)
    sizes = [model.target.size or least + STRIDE * i for i in range(n)]
    return [model.independent(np.concatenate([model.included, rng.permutation(free)]), size) for size in sizes]
