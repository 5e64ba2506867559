"""The default solver: every sampled set informs every feature.

Stage A, a damped fixed point θ_m ← θ_m + ρ E[w_m(δ_m − θ_m)] / E[w_m], comes close with few sets. Stage B, natural-gradient
steps with the whole gradient, goes to the stationary point. Requires flip gains of the likelihood; without them only
stage B runs, on the covariance of γ and h over the sets themselves.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .correction import GainCorrection
from .proposal import Proposal, propose
from .statistics import Statistics, fixed_size_statistics, free_statistics, plain_statistics
from .target import Float64Array, Target

DAMPING = 0.7
FEWEST_STEPS = 16
LONGEST_STEP = 3.0  # in any θ_m, for a step of stage B


class Progress(NamedTuple):
    """What a callback hears after every iteration."""

    stage: str
    iteration: int
    elbo: float
    expected_size: float


Callback = Callable[[Progress], None]


class Point(NamedTuple):
    """Where a stage ended."""

    theta: Float64Array
    inclusion: Float64Array
    elbo: Float64Array  # trace, one estimate an iteration
    elbo_error: Float64Array  # Monte Carlo standard errors of the trace
    converged: bool


def look(
    target: Target, theta: Float64Array, inclusion: Float64Array | None, n: int, rng: np.random.Generator
) -> tuple[Proposal, list[np.ndarray], Statistics]:
    """Draw n sets from q_θ and see what they say."""
    proposal = propose(target, theta, inclusion)
    sets = proposal.draw(n, rng)
    if not target.has_gains:
        return proposal, sets, plain_statistics(target, theta, sets)
    if target.size is not None:
        return proposal, sets, fixed_size_statistics(target, theta, sets, rng)
    return proposal, sets, free_statistics(target, theta, target.evaluate(sets))


def elbo_of(target: Target, proposal: Proposal, h: Float64Array) -> tuple[float, float]:
    """ELBO and its standard error from h over sets of q."""
    value = h.mean() + proposal.log_normalizer - target.prior_log_normalizer
    return float(value), float(h.std() / np.sqrt(len(h)))


def fixed_point(
    target: Target,
    start: Float64Array,
    rng: np.random.Generator,
    *,
    n_sets: int = 16,
    max_iter: int = 25,
    callback: Callback | None = None,
) -> Point:
    """Stage A. Stops when the second half of the trace is no higher than the first by more than its error."""
    theta, inclusion = start, None
    trace: list[tuple[float, float]] = []
    converged = False
    for iteration in range(max_iter):
        proposal, _, found = look(target, theta, inclusion, n_sets, rng)
        trace.append(elbo_of(target, proposal, found.h))
        inclusion = found.inclusion
        theta = theta + DAMPING * found.step
        if callback is not None:
            callback(Progress("fixed point", iteration + 1, trace[-1][0], proposal.expected_size))
        if converged := plateau(trace):
            break
    elbo, error = np.array(trace).T
    return Point(theta, inclusion if inclusion is not None else np.zeros_like(theta), elbo, error, converged)


def plateau(trace: list[tuple[float, float]], window: int = 6) -> bool:
    """Whether the last `window` estimates have stopped rising, judged against their own error."""
    if len(trace) < window + 2:
        return False
    values, errors = np.array(trace[-window:]).T
    half = window // 2
    rise = values[half:].mean() - values[:half].mean()
    return bool(rise < max(np.sqrt(np.square(errors).sum()) / half, 1e-3))


def natural_gradient(
    target: Target,
    start: Point,
    rng: np.random.Generator,
    *,
    n_sets: int = 64,
    max_iter: int = 60,
    tol: float = 0.005,
    callback: Callback | None = None,
) -> Point:
    """Stage B. Stops when the gain still to be expected from a full step is below `tol` nats.

    That gain, ½ gᵀF⁻¹g, is estimated without bias from the two halves of each batch, g₁ᵀF⁻¹g₂, and averaged over the last
    iterations. θ is averaged over the second half of the iterations.
    """
    theta, inclusion = start.theta, start.inclusion if start.inclusion.any() else None
    correction = GainCorrection.for_target(target)
    path: list[Float64Array] = []
    trace: list[tuple[float, float]] = []
    remaining: list[float] = []
    converged = False
    for iteration in range(max_iter):
        proposal, sets, found = look(target, theta, inclusion, n_sets, rng)
        if correction is not None:
            found = correction.apply(target, theta, sets, rng)
        trace.append(elbo_of(target, proposal, found.h))
        inclusion = found.inclusion
        first, second = (proposal.natural_direction(g, np.clip(inclusion, 1e-9, 1 - 1e-9)) for g in found.halves)
        remaining.append(0.25 * float(found.halves[1] @ first + found.halves[0] @ second))
        theta = theta + limited(DAMPING / (1 + iteration / 5) ** 0.6 * 0.5 * (first + second))
        path.append(theta)
        if callback is not None:
            callback(Progress("natural gradient", iteration + 1, trace[-1][0], proposal.expected_size))
        if iteration + 1 >= FEWEST_STEPS and np.mean(remaining[-FEWEST_STEPS // 2 :]) < tol:
            converged = True
            break
    elbo, error = np.array(trace).T
    averaged = np.mean(path[len(path) // 2 :], axis=0)
    return Point(averaged, inclusion, elbo, error, converged)


def limited(step: Float64Array) -> Float64Array:
    """The step, shortened so that no θ_m moves further than LONGEST_STEP."""
    longest = np.abs(step).max(initial=0.0)
    return step * (LONGEST_STEP / longest) if longest > LONGEST_STEP else step
