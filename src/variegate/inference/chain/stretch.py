"""One stretch of a chain: features in scope move, then hyperparameters and auxiliary variables are drawn."""

from typing import NamedTuple, cast

import numpy as np

from ...likelihoods import pick, window
from ...types import FloatArray, IntArray
from .evidence import draw_size, log_evidence
from .kernel import simulate
from .model import Model, Position
from .problem import Grid, Problem
from .workspace import Workspace

REMEMBERED = 1 << 13  # evidences cached by each chain: with few features, sets repeat


class Pace(NamedTuple):
    """How a stretch is run: η, the flip rate of improbable features, and the time and number of rounds."""

    eta: float
    time: float
    rounds: int
    trusting: bool = False  # whether all moves on an approximate form are accepted, whatever the evidence


class Stretch(NamedTuple):
    """The contribution of a stretch of the chain to the averages."""

    features: IntArray  # (n,) features that could move
    inclusion: FloatArray  # (n,) weighted sums of inclusion probabilities
    weight: float  # total weight of these sums
    visits: FloatArray  # (I, J) rounds at each pair of hyperparameters
    steps: int


def advance(local: Workspace, position: Position, pace: Pace, rng: np.random.Generator) -> tuple[Position, Stretch]:
    """One stretch, in which only features in scope move, then new auxiliary variables."""
    return (_augmented if local.model.augments else _proposed)(local, position, pace, rng)


def _augmented(local: Workspace, position: Position, pace: Pace, rng: np.random.Generator) -> tuple[Position, Stretch]:
    model = local.model
    problem, state = local.problem(position.S, position.auxiliary), local.state(position.S)
    inclusion, visits = np.zeros(len(local.features)), np.zeros(model.grid.log_prior.shape)
    i, j, steps, weight = simulate(
        problem, state, model.grid, position.at, _plan(model, pace), inclusion, visits, rng
    )  # fmt: skip
    end = _refreshed(model, Position(local.members(state), position.auxiliary, (i, j)), rng)
    moved = local.movable
    return end, Stretch(local.features[moved], inclusion[moved], weight, visits, steps)


def _refreshed(model: Model, position: Position, rng: np.random.Generator) -> Position:
    """Draw new auxiliary variables, and the slab precision given the coefficients in units of the slab.

    The kernel draws the slab precision given the auxiliary variables, which depend on the size of coefficients: with
    few rows of separable classes, each keeps the other from changing. Drawing it both ways (Yu & Meng 2011) avoids
    that: the standard deviation of z-scores is 3.6 without it and 1.0 with it (30 rows, 5 columns).
    """
    (i, j), log_c = position.at, model.grid.log_c
    predictor = model.predictor(position.S, j, position.auxiliary, rng)
    if predictor is None:
        return position
    near = window(j, len(log_c), rng)
    scales = np.exp(0.5 * (log_c[j] - log_c[near]))
    new = pick(predictor.log_densities(scales) + model.grid.log_prior[i, near], rng) if len(scales) > 1 else 0
    return position._replace(auxiliary=predictor.auxiliary(float(scales[new]), rng), at=(i, near.start + new))


def _proposed(local: Workspace, position: Position, pace: Pace, rng: np.random.Generator) -> tuple[Position, Stretch]:
    """Run a stretch on the approximate form, accept or reject its end, then draw new hyperparameters.

    Hyperparameters stay fixed during the stretch, which would otherwise not be reversible. The path follows the form,
    not the posterior, so only its end counts.
    """
    model, (i, j) = local.model, position.at
    grid, problem, state = model.grid, local.problem(position.S, position.auxiliary), local.state(position.S)
    here = Grid(grid.log_kappa[i : i + 1], np.zeros(1), grid.log_c[j : j + 1], np.zeros((1, 1)))
    path, unused = np.zeros(len(local.features)), np.zeros((1, 1))
    _, _, steps, _ = simulate(problem, state, here, (0, 0), _plan(model, pace), path, unused, rng)
    if position.excess is None:
        position = position._replace(excess=_excess(local, position, problem))
    new = position._replace(S=local.members(state))
    excess = _excess(local, new, problem)
    end = new._replace(excess=excess) if pace.trusting else _accepted(position, new, excess, 0.0, rng)
    if len(grid.log_kappa) > 1:
        end = end._replace(at=(int(draw_size(len(end.S), grid, j, rng)), j))
    end = _other_slab(local, end, problem, rng)
    visits = np.zeros(grid.log_prior.shape)
    visits[end.at] = 1.0
    moved = local.features[local.movable]
    return end, Stretch(moved, np.isin(moved, end.S).astype(np.float64), 1.0, visits, steps)


def _plan(model: Model, pace: Pace) -> tuple[float, float, int, bool]:
    return pace.eta, pace.time, pace.rounds, model.target.size is not None


def _other_slab(local: Workspace, position: Position, problem: Problem, rng: np.random.Generator) -> Position:
    """Propose a nearby slab precision; the evidence decides."""
    model, (i, j) = local.model, position.at
    k = j + int(rng.choice([-2, -1, 1, 2]))
    if not 0 <= k < len(model.grid.log_c):
        return position
    new = position._replace(at=(i, k))
    state, excess = local.state(position.S), _excess(local, new, problem)
    form = log_evidence(problem, state, model.slab(k)) - log_evidence(problem, state, model.slab(j))
    return _accepted(position, new, excess, form + model.grid.log_prior[i, k] - model.grid.log_prior[i, j], rng)


def _excess(local: Workspace, position: Position, problem: Problem) -> float:
    """Log evidence minus that of the form."""
    model, S, j, nuisance = local.model, position.S, position.at[1], position.draw.nuisance
    given = nuisance if np.isfinite(nuisance) else None
    c, key = model.slab(j), (S.tobytes(), j, given)
    if key not in model.evidences:
        if len(model.evidences) >= REMEMBERED:
            model.evidences.clear()
        target = model.target.with_slab_precision(c)
        target = target if given is None else target.with_nuisance(given)
        model.evidences[key] = target.log_evidence(S)
    return float(model.evidences[key] - log_evidence(problem, local.state(S), c))


def _accepted(old: Position, new: Position, excess: float, gain: float, rng: np.random.Generator) -> Position:
    """The new position with probability e^gain [π(new)/π*(new)] / [π(old)/π*(old)], else the old one."""
    rise = gain + excess - cast(float, old.excess)
    return new._replace(excess=excess) if np.log(rng.random()) < rise else old
