"""The default variational solver: every sampled set informs every feature.

Stage A, a damped fixed point θ_m ← θ_m + ρ E[w_m(δ_m − θ_m)] / E[w_m], comes close with few sets. Stage B, natural-
gradient steps with the full gradient, converges to the stationary point. Requires flip gains of the likelihood;
without them only stage B runs, on the covariance of γ and h over the sampled sets.
"""

from collections.abc import Iterator

import numpy as np

from ...types import FloatArray
from ..target import Target
from . import tuning
from .correction import GainCorrection
from .points import Point
from .proposal import Proposal, propose
from .statistics import (
    Statistics,
    Step,
    at_right_length,
    fixed_size_statistics,
    free_statistics,
    joint_step,
    plain_statistics,
)


def look(target: Target, proposal: Proposal, theta: FloatArray, n: int, rng: np.random.Generator) -> Statistics:
    """Draw n sets from q_θ and return the statistics of their flips."""
    sets = proposal.draw(n, rng)
    if target.size is not None:
        return fixed_size_statistics(target, theta, sets, rng)
    return free_statistics(target, theta, sets, rng)


def unbiased_statistics(
    target: Target,
    proposal: Proposal,
    theta: FloatArray,
    n: int,
    rng: np.random.Generator,
    correction: GainCorrection | None,
) -> Statistics:
    """The same without the bias of approximate gains: corrected, or, with a fixed size, without gains."""
    if target.has_gains and (target.exact_gains or target.size is None):
        if correction is None:
            return look(target, proposal, theta, n, rng)
        return free_statistics(target, theta, proposal.draw(n, rng), rng, correction)
    return plain_statistics(target, theta, proposal.draw(n, rng))


def elbo_of(target: Target, proposal: Proposal, h: FloatArray) -> tuple[float, float]:
    """ELBO and its standard error from h over sets of q."""
    value = h.mean() + proposal.law.log_normalizer - target.prior_log_normalizer
    return float(value), float(h.std() / np.sqrt(len(h)))


def fixed_point(
    target: Target, start: FloatArray, rng: np.random.Generator, n_sets: int, max_iter: int, tol: float
) -> Iterator[Point]:
    """Stage A. Stops when two steps promise less than `tol` nats per undecided feature.

    θ is averaged over the last third of the steps.
    """
    theta, inclusion = start, None
    best, best_elbo, best_error = start, -np.inf, 0.0
    trace: list[tuple[float, float]] = []
    steps: list[Step] = []
    path: list[FloatArray] = []
    damping, converged = tuning.DAMPING, False
    for _ in range(max_iter):
        proposal = propose(target, theta, inclusion)
        found = look(target, proposal, theta, n_sets, rng)
        elbo, error = elbo_of(target, proposal, found.h)
        trace.append((elbo, error))
        steps.append(found.step)
        bearable = tol * undecided(found.inclusion)
        if elbo < best_elbo - 3 * (error + best_error):
            # all features moved at once and overshot: go back towards the best point, with shorter steps
            damping *= 0.5
            theta = best + damping * (theta - best)
        else:
            if elbo > best_elbo:
                best, best_elbo, best_error = theta, elbo, error
            theta = theta + damping * length(found.step, bearable) * found.step.direction
        path.append(theta)
        inclusion = found.inclusion
        converged = settled(steps[-2:], 2, bearable)
        point = Point.of(path[-(len(path) + 2) // 3 :], inclusion, trace)
        yield point._replace(converged=converged, stage="fixed point", expected_size=proposal.law.expected_size)
        if converged:
            return


def undecided(inclusion: FloatArray) -> float:
    """Σ p(1 − p), the effective number of features that q is undecided about; at least one."""
    return max(float((inclusion * (1 - inclusion)).sum()), 1.0)


def length(step: Step, bearable: float) -> float:
    """Fraction of a step to take: its trust, or more if the noise costs no more than `bearable` nats."""
    harmless = np.sqrt(2 * bearable / step.noise) if step.noise > 0 else 1.0
    return float(np.clip(max(step.trust, harmless), tuning.LEAST, 1.0))


def settled(steps: list[Step], enough: int, bearable: float) -> bool:
    """Whether there are enough steps, and they promised less than `bearable` nats on average."""
    return len(steps) >= enough and sum(step.squared - step.noise for step in steps) < 2 * len(steps) * bearable


def plateau(trace: list[tuple[float, float]], tol: float, window: int) -> bool:
    """Whether the last `window` estimates have stopped rising, compared with their error."""
    if len(trace) < window + 2:
        return False
    values, errors = np.array(trace[-window:]).T
    half = window // 2
    rise = values[half:].mean() - values[:half].mean()
    return bool(rise < max(np.sqrt(np.square(errors).sum()) / half, tol))


def natural_step(proposal: Proposal, found: Statistics) -> Step:
    """The step of stage B from a batch."""
    directions = proposal.natural_direction(found.gradients, found.inclusion)
    if proposal.size is not None:
        directions = at_right_length(directions, found)
    return joint_step(found.gradients, directions, found.inclusion)


def natural_gradient(
    target: Target, start: Point, rng: np.random.Generator, n_sets: int, max_iter: int, tol: float
) -> Iterator[Point]:
    """Stage B. Stops when steps promise less than STRICT · `tol` nats per undecided feature, or the ELBO stops rising.

    θ is averaged over the second half of the steps, because the gradient's second term, Cov(π, h̄), is noisy.
    """
    theta, inclusion = start.theta, start.inclusion if start.inclusion.any() else None
    correction = GainCorrection.for_target(target)
    enough, window = tuning.n_steps(target), tuning.window(target)
    path: list[FloatArray] = []
    trace: list[tuple[float, float]] = []
    steps: list[Step] = []
    for iteration in range(max_iter):
        proposal = propose(target, theta, inclusion)
        found = unbiased_statistics(target, proposal, theta, n_sets, rng, correction)
        trace.append(elbo_of(target, proposal, found.h))
        inclusion = found.inclusion
        step = natural_step(proposal, found)
        del found  # frees its gradients before the next batch
        steps.append(step)
        bearable = tol * undecided(inclusion)
        move = tuning.DAMPING * length(step, bearable / (1 + iteration / tuning.SLOWING)) * step.direction
        theta = theta + np.clip(move, -tuning.LONGEST_STEP, tuning.LONGEST_STEP)
        path.append(theta)
        converged = settled(steps[-enough:], enough, tuning.STRICT * bearable) or plateau(trace, tol, window)
        point = Point.of(path[len(path) // 2 :], inclusion, trace)
        yield point._replace(converged=converged, stage="natural gradient", expected_size=proposal.law.expected_size)
        if converged:
            return
