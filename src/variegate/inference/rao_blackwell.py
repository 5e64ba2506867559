"""The default solver: every sampled set informs every feature.

Stage A, a damped fixed point θ_m ← θ_m + ρ E[w_m(δ_m − θ_m)] / E[w_m], comes close with few sets. Stage B, natural-
gradient steps with the whole gradient, goes to the stationary point. Requires flip gains of the likelihood; without
them only stage B runs, on the covariance of γ and h over the sets themselves.
"""

from typing import NamedTuple

import numpy as np

from .correction import GainCorrection
from .progress import Callback, Progress
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
from .target import Float64Array, Target

DAMPING = 0.7
LEAST = 0.1  # of a step of nothing but noise, as it seems; averaging takes care of it
# so many steps of stage B must promise nothing: WORK // M, within these bounds; they are cheap where features are few
FEWEST_STEPS, MOST_STEPS, WORK = 3, 16, 1600
STRICT = (
    0.25  # F overstates how curved the ELBO is along ridges, so that stage B may have more to gain than it promises
)
FEW_FEATURES = 256
TRIAL = 4  # iterations that a start has to show itself
HOPELESS = 10.0  # nats: a start that stays this far below the best is given up
LONGEST_STEP = 3.0  # in any θ_m, for a step of stage B


class Point(NamedTuple):
    """Where a stage ended."""

    theta: Float64Array
    inclusion: Float64Array
    elbo: Float64Array  # trace, one estimate an iteration
    elbo_error: Float64Array  # Monte Carlo standard errors of the trace
    converged: bool


def look(target: Target, proposal: Proposal, theta: Float64Array, n: int, rng: np.random.Generator) -> Statistics:
    """Draw n sets from q_θ and see what their flips say."""
    sets = proposal.draw(n, rng)
    if target.size is not None:
        return fixed_size_statistics(target, theta, sets, rng)
    return free_statistics(target, theta, sets, rng)


def look_closely(
    target: Target,
    proposal: Proposal,
    theta: Float64Array,
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
    tol: float = 0.005,
    to_beat: float = -np.inf,
    callback: Callback | None = None,
) -> Point:
    """Stage A. Stops when its steps promise less than `tol`, or the ELBO has stopped rising.

    A start that will not reach the ELBO `to_beat` is given up.
    """
    theta, inclusion = start, None
    best = Point(start, np.zeros_like(start), np.array([-np.inf]), np.zeros(1), converged=False)
    trace: list[tuple[float, float]] = []
    steps: list[Step] = []
    path: list[Float64Array] = []
    damping, converged = DAMPING, False
    for iteration in range(max_iter):
        proposal = propose(target, theta, inclusion)
        found = look(target, proposal, theta, n_sets, rng)
        elbo, error = elbo_of(target, proposal, found.h)
        trace.append((elbo, error))
        steps.append(found.step)
        if callback is not None:
            callback(Progress("fixed point", iteration + 1, elbo, proposal.expected_size))
        bearable = tol * undecided(found.inclusion)
        if elbo < best.elbo[-1] - 3 * (error + best.elbo_error[-1]):
            # all features moved at once and overshot together: back to the best point with shorter steps
            damping *= 0.5
            theta = best.theta + damping * (theta - best.theta)
        else:
            if elbo > best.elbo[-1]:
                best = Point(theta, found.inclusion, np.array([elbo]), np.array([error]), converged=False)
            theta = theta + damping * length(found.step, bearable) * found.step.direction
        path.append(theta)
        inclusion = found.inclusion
        if converged := settled(steps[-2:], 2, bearable) or plateau(trace, tol=1e-3, window=6):
            break
        if iteration and hopeless(trace, found.step, to_beat):
            break
    values, errors = np.array(trace).T
    averaged = np.mean(path[-(len(path) + 2) // 3 :], axis=0)
    return Point(averaged, found.inclusion, values, errors, converged)


def hopeless(trace: list[tuple[float, float]], step: Step, to_beat: float) -> bool:
    """Whether the ELBO will not be reached, by what the next steps promise, or after a fair trial."""
    elbo, error = trace[-1]
    below = to_beat - (elbo + 3 * error)
    if len(trace) < TRIAL:
        return below > 4 * step.promise
    values = [value for value, _ in trace[-TRIAL:]]
    risen = float(np.mean(values[TRIAL // 2 :]) - np.mean(values[: TRIAL // 2]))
    return below > min(HOPELESS, 4 * step.promise, 2 * max(risen, 0.0))


def undecided(inclusion: Float64Array) -> float:
    """Σ p(1 − p), the number of features that q is undecided about, so to speak; at least one."""
    return max(float((inclusion * (1 - inclusion)).sum()), 1.0)


def length(step: Step, bearable: float) -> float:
    """How much of a step to make: what it can be trusted for, or what costs no more than `bearable` nats of noise."""
    harmless = np.sqrt(2 * bearable / step.noise) if step.noise > 0 else 1.0
    return float(np.clip(max(step.trust, harmless), LEAST, 1.0))


def settled(steps: list[Step], enough: int, bearable: float) -> bool:
    """Whether the last steps, enough of them, promised less than `bearable` nats on average."""
    return len(steps) >= enough and sum(step.squared - step.noise for step in steps) < 2 * len(steps) * bearable


def plateau(trace: list[tuple[float, float]], tol: float, window: int) -> bool:
    """Whether the last `window` estimates have stopped rising, judged against their own error."""
    if len(trace) < window + 2:
        return False
    values, errors = np.array(trace[-window:]).T
    half = window // 2
    rise = values[half:].mean() - values[:half].mean()
    return bool(rise < max(np.sqrt(np.square(errors).sum()) / half, tol))


def natural_step(proposal: Proposal, found: Statistics) -> Step:
    """The step of stage B that a batch asks for."""
    directions = proposal.natural_direction(found.gradients, found.inclusion)
    if proposal.size is not None:
        directions = at_right_length(directions, found)
    return joint_step(found.gradients, directions, found.inclusion)


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
    """Stage B. Stops when its steps promise less than `tol`, or the ELBO has stopped rising by more than its error.

    θ is averaged over the second half of the steps: the gradient's second part, Cov(π, h̄), is noisy.
    """
    theta, seen = start.theta, bool(start.inclusion.any())
    inclusion = start.inclusion
    correction = GainCorrection.for_target(target)
    most = MOST_STEPS // 4 if target.sets_are_dear else MOST_STEPS
    enough = int(np.clip(WORK // target.n_features, FEWEST_STEPS, most))
    # at M = 2000 an estimate costs two tenths of a second, and two more bring a twentieth of a nat
    window = min(4 * enough, 24) if target.n_features <= FEW_FEATURES else 2 * ((enough + 1) // 2)
    path: list[Float64Array] = []
    trace: list[tuple[float, float]] = []
    steps: list[Step] = []
    converged = False
    for iteration in range(max_iter):
        proposal = propose(target, theta, inclusion if seen else None)
        found = look_closely(target, proposal, theta, n_sets, rng, correction)
        seen = True
        trace.append(elbo_of(target, proposal, found.h))
        inclusion = found.inclusion
        step = natural_step(proposal, found)
        del found  # its gradients would lie beside those of the next batch
        steps.append(step)
        bearable = tol * undecided(inclusion)
        move = DAMPING * length(step, bearable / (1 + iteration / 5)) * step.direction
        theta = theta + np.clip(move, -LONGEST_STEP, LONGEST_STEP)
        path.append(theta)
        if callback is not None:
            callback(Progress("natural gradient", iteration + 1, trace[-1][0], proposal.expected_size, theta))
        converged = settled(steps[-enough:], enough, STRICT * bearable) or plateau(trace, tol, window)
        if converged:
            break
    elbo, error = np.array(trace).T
    averaged = np.mean(path[len(path) // 2 :], axis=0)
    return Point(averaged, inclusion, elbo, error, converged)
