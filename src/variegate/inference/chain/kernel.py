"""The compiled loop: a Markov process in continuous time whose law is the posterior over sets.

Free size (Zanella & Roberts 2019, tempered Gibbs sampling): with the odds o_m = p(m in) / p(m out) given the other
features, p_m = o_m / (1 + o_m), feature m is flipped at the rate (p_m + η) / p(γ_m | the others). Rates are reversible
for the posterior, so after any length of time the process has the law that it had before, and whatever else leaves the
posterior as it is may come in between: new auxiliary variables, other hyperparameters, other features in scope.
Inclusion probabilities are averages of p_m over time. A step costs O(|S| C).

Fixed size: each member is taken out at rate one, and the feature that comes in is drawn with the probability of its
set. Inclusion probabilities are averages, over these events, of the probability to be in the set after it.
"""

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from ...dpp.sets import Float64Array, IntArray
from .system import (
    DIAGONAL,
    FAST,
    INFORMATION,
    D,
    L,
    R,
    System,
    U,
    W,
    Y,
    append,
    clear,
    delete,
    explained,
    learn_row,
    member,
)

LARGEST = 300.0  # log-odds beyond which a feature stays where it is: e^300 leaves room for sums of rates
WINDOW = 8  # slab precisions that are looked at together: each costs a factor of the members' columns
DEPENDENT = 1e-12  # a feature whose squared part outside the span of the others is smaller is a copy of them


class Problem(NamedTuple):
    """The posterior over sets of the n features in scope, given everything else.

    log p(S | …) = Σ_k evidence_k(S) + tilt(S) + |S| log κ + log ν(S), where evidence k is a `QuadraticForm` over the C
    columns of the features.
    """

    gram: Float64Array  # (K or K + 1, C, C), `known` rows; where the prior has ν its cosines are the last system
    known: npt.NDArray[np.bool_]  # (K or K + 1, C)
    vectors: Float64Array  # (K or K + 1, 5, C)
    tables: Float64Array  # (K or K + 1, 3, C, C)
    members: IntArray  # (K or K + 1, C)
    columns: Float64Array  # Z (C, N)
    units: Float64Array  # (n, d) rows of Φ at unit length, or (n, 0)
    precision: Float64Array  # (K, N)
    fixed: Float64Array  # (K, p, C)
    first: IntArray  # (n + 1,) features' first columns
    tilt: Float64Array  # (n,) log-odds of the prior without ν and without the constant of its size
    noise: Float64Array  # (K, 3) shape, rate, floor; shape = 0 where the noise is known
    movable: npt.NDArray[np.bool_]  # (n,) the others stay in or out
    nugget: float


class Grid(NamedTuple):
    """Hyperparameters that are averaged over: I prior sizes and J slab precisions, one of each where it is given."""

    log_kappa: Float64Array  # (I,) constants added to the prior's log-odds
    log_normalizer: Float64Array  # (I,) of the prior with each
    log_c: Float64Array  # (J,) evenly spaced
    log_prior: Float64Array  # (I, J)


class State(NamedTuple):
    """The set in the order in which its members came, and workspace."""

    order: IntArray  # (n,) the first size[0] entries are the members
    place: IntArray  # (n,) position in `order`, −1 outside
    size: IntArray  # (1,)
    log_odds: Float64Array  # (n,)
    odds: Float64Array  # (n,)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def part(p: Problem, k: int) -> System:
    """System number k."""
    return System(p.gram[k], p.vectors[k], p.tables[k], p.members[k])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def learn(p: Problem, k: int, j: int) -> None:
    """Row j of the Gram matrix of system k, unless it is known."""
    if p.known[k, j]:
        return
    p.known[k, j] = True
    if k < len(p.noise):
        learn_row(p.gram[k, j], j, p.columns, p.precision[k], p.fixed[k])
    else:
        learn_row(p.gram[k, j], j, p.units, np.ones(p.units.shape[1]), np.empty((0, 0)))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add(p: Problem, s: State, m: int, columns: int, c: float) -> int:
    """Feature m comes in; returns the number of columns then."""
    wide = p.first[m + 1] - p.first[m]
    for k in range(len(p.gram)):
        volume = k == len(p.noise)
        for j in range(1 if volume else wide):
            column = m if volume else p.first[m] + j
            learn(p, k, column)
            append(part(p, k), s.size[0] if volume else columns + j, column, DEPENDENT if volume else c)
    s.place[m] = s.size[0]
    s.order[s.size[0]] = m
    s.size[0] += 1
    return int(columns + wide)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def remove(p: Problem, s: State, m: int, columns: int) -> int:
    """Feature m leaves; returns the number of columns then."""
    position, before = s.place[m], 0
    for i in range(position):
        before += p.first[s.order[i] + 1] - p.first[s.order[i]]
    wide = p.first[m + 1] - p.first[m]
    for k in range(len(p.gram)):
        volume = k == len(p.noise)
        for j in range(1 if volume else wide):
            delete(part(p, k), s.size[0] if volume else columns - j, position if volume else before + wide - 1 - j)
    for i in range(position + 1, s.size[0]):
        s.order[i - 1] = s.order[i]
        s.place[s.order[i]] = i - 1
    s.place[m] = -1
    s.size[0] -= 1
    return int(columns - wide)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def rebuild(p: Problem, s: State, c: float) -> int:
    """The systems of the present set from nothing, which also ends the growth of rounding errors."""
    for k in range(len(p.gram)):
        clear(part(p, k), c if k < len(p.noise) else p.nugget)
    size, columns = s.size[0], s.size[0] * 0  # an int64, as in the loop
    s.size[0] = 0
    for i in range(size):
        columns = add(p, s, s.order[i], columns, c)
    return int(columns)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def block_gain(D: Float64Array, e: Float64Array, g: int) -> tuple[float, float]:
    """log|D| and eᵀD⁻¹e of the first g rows; both arguments are overwritten."""
    log_det = total = 0.0
    for i in range(g):
        for j in range(i):
            D[i, i] -= D[i, j] * D[i, j]
            e[i] -= D[i, j] * e[j]
        length = np.sqrt(D[i, i])
        log_det += 2.0 * np.log(length)
        e[i] /= length
        total += e[i] * e[i]
        for h in range(i + 1, g):
            for j in range(i):
                D[h, i] -= D[h, j] * D[i, j]
            D[h, i] /= length
    return log_det, total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def outside_block(s: System, start: int, stop: int, columns: int, c: float) -> tuple[float, float]:
    """log|D| and explained part of several columns that would come in together."""
    g = stop - start
    D, e = np.empty((g, g)), np.empty(g)
    for i in range(g):
        e[i] = s.vectors[R, start + i]
        for j in range(i + 1):
            total = s.gram[start + i, start + j]
            for h in range(columns):
                total -= s.tables[W, h, start + i] * s.tables[W, h, start + j]
            D[i, j] = total
        D[i, i] = max(D[i, i], 0.0) + c
    return block_gain(D, e, g)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def inside_block(s: System, start: int, wide: int, columns: int) -> tuple[float, float]:
    """log|D| and explained part of several members, the `wide` ones from position `start` on."""
    P, mu = np.zeros((wide, wide)), np.zeros(wide)
    for h in range(start, columns):
        for i in range(wide):
            y = s.tables[Y, h, start + i]
            mu[i] += y * s.vectors[U, h]
            for j in range(i + 1):
                P[i, j] += y * s.tables[Y, h, start + j]
    log_det, total = block_gain(P, mu, wide)
    return -log_det, total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def outside_odds(d: Float64Array, r: Float64Array, a: float, rate: float, floor: float, c: float, s: State) -> None:
    """Add the gains of all columns as if none was a member; features are columns here.

    √(c/d) goes into `odds`: a square root costs less than a logarithm.
    """
    log_odds, odds = s.log_odds, s.odds
    if a == 0.0:
        for m in range(len(log_odds)):
            share = 1.0 / max(d[m], c)
            log_odds[m] += 0.5 * r[m] * r[m] * share
            odds[m] *= np.sqrt(c * share)
        return
    half, least = 0.5 / rate, floor / rate
    for m in range(len(log_odds)):
        share = 1.0 / max(d[m], c)
        log_odds[m] -= a * np.log(max(1.0 - half * r[m] * r[m] * share, least))
        odds[m] *= np.sqrt(c * share)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def gain(a: float, rate: float, floor: float, log_c: float, log_det: float, x: float, inside: bool) -> float:
    """Gain of a feature from log|D| − (its columns) log c and its explained part."""
    if a == 0.0:
        return 0.5 * (log_c - log_det + x)
    after = 1.0 / (1.0 + 0.5 * x / rate) if inside else max(1.0 - 0.5 * x / rate, floor / rate)
    return float(0.5 * (log_c - log_det) - a * np.log(after))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fill_log_odds(p: Problem, s: State, c: float, log_kappa: float, columns: int) -> None:
    """The odds of every feature given the others are `odds` times e^`log_odds`."""
    n, single = len(p.tilt), len(p.tilt) == p.first[-1]
    for m in range(n):
        s.log_odds[m] = p.tilt[m] + log_kappa
        s.odds[m] = 1.0
    for k in range(len(p.noise)):
        system = part(p, k)
        a, floor = p.noise[k, 0], p.noise[k, 2]
        rate = max(p.noise[k, 1] - 0.5 * explained(system, columns), floor)
        if single:
            outside_odds(system.vectors[D], system.vectors[R], a, rate, floor, c, s)
        else:
            for m in range(n):
                start, stop = p.first[m], p.first[m + 1]
                if s.place[m] < 0:
                    log_det, x = outside_block(system, start, stop, columns, c)
                    s.log_odds[m] += gain(a, rate, floor, (stop - start) * np.log(c), log_det, x, False)
    if len(p.gram) > len(p.noise):
        left = part(p, len(p.noise)).vectors[D]
        for m in range(n):
            s.odds[m] *= left[m] if left[m] > DEPENDENT else 0.0
    start = 0
    for i in range(s.size[0]):
        m = s.order[i]
        wide = p.first[m + 1] - p.first[m]
        s.log_odds[m] = p.tilt[m] + log_kappa + member_gain(p, c, columns, start, wide)
        s.odds[m] = 1.0
        if len(p.gram) > len(p.noise):
            variance, _ = member(part(p, len(p.noise)), s.size[0], i)
            s.odds[m] = 1.0 / variance
        start += wide


@numba.njit(cache=True, nogil=True, error_model="numpy")
def member_gain(p: Problem, c: float, columns: int, start: int, wide: int) -> float:
    """Gain of a member, whose columns are in the systems from position `start` on."""
    total = 0.0
    for k in range(len(p.noise)):
        system = part(p, k)
        rate = max(p.noise[k, 1] - 0.5 * explained(system, columns), p.noise[k, 2])
        if wide == 1:
            variance, mean = member(system, columns, start)
            log_det, x = -np.log(variance), mean * mean / variance
        else:
            log_det, x = inside_block(system, start, wide, columns)
        total += gain(p.noise[k, 0], rate, p.noise[k, 2], wide * np.log(c), log_det, x, True)
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def rates(movable: npt.NDArray[np.bool_], s: State, eta: float) -> float:
    """Turn log-odds into odds, and return the sum of all rates; `log_odds` then holds the rates."""
    total = 0.0
    for m in range(len(movable)):
        odds = s.odds[m] * np.exp(min(s.log_odds[m], LARGEST))
        s.odds[m] = odds
        rate = (1.0 + eta + eta / max(odds, 1e-130)) if s.place[m] >= 0 else odds + eta * (1.0 + odds)
        if (odds == 0.0 and s.place[m] < 0) or not movable[m]:
            rate = 0.0
        s.log_odds[m] = rate
        total += rate
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def accumulate(s: State, weight: float, inclusion: Float64Array) -> None:
    """Add weight · p_m."""
    for m in range(len(inclusion)):
        inclusion[m] += weight * (s.odds[m] / (1.0 + s.odds[m]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def pick(weights: Float64Array, aim: float) -> int:
    """The first position at which the running sum exceeds `aim`."""
    total, last = 0.0, -1
    for m in range(len(weights)):
        if weights[m] > 0.0:
            total += weights[m]
            last = m
            if total > aim:
                break
    return last


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run(
    p: Problem, s: State, grid: Grid, at: tuple[int, int], eta: float, time: float, fixed: bool,
    inclusion: Float64Array, rng: np.random.Generator,
) -> tuple[int, float]:  # fmt: skip
    """Run for `time`, adding to `inclusion` (n,); returns the number of steps and the weight of what was added.

    Of free size that is ∫ p_m dt. Of fixed size exchanges come at the rate n, the number of members that may move, and
    each adds 1/n times the probability to be in after it: so the weight is the time, on average, whatever n is.
    """
    c, log_kappa = np.exp(grid.log_c[at[1]]), grid.log_kappa[at[0]]
    columns, steps, whole, total, out = rebuild(p, s, c), 0, time, 0.0, 0
    n = count_movable(p.movable, s)
    while True:
        if not fixed:
            fill_log_odds(p, s, c, log_kappa, columns)
            total = rates(p.movable, s, eta)
        speed = n if fixed else total
        wait = rng.standard_exponential() / speed if speed > 0.0 else time
        last = wait >= time
        if not fixed:
            accumulate(s, time if last else wait, inclusion)
        if last:
            return steps, steps / n if fixed and n else whole
        time -= wait
        if fixed:
            out = movable_member(p.movable, s, int(n * rng.random()))
            columns = remove(p, s, out, columns)
            fill_log_odds(p, s, c, log_kappa, columns)
            total = chances(p.movable, s, out)
            accumulate_exchange(s, 1.0 / n, total, inclusion)
        m = pick(s.odds if fixed else s.log_odds, rng.random() * total)
        columns = add(p, s, m, columns, c) if s.place[m] < 0 else remove(p, s, m, columns)
        steps += 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def count_movable(movable: npt.NDArray[np.bool_], s: State) -> int:
    """How many members may move."""
    n = 0
    for i in range(s.size[0]):
        n += 1 if movable[s.order[i]] else 0
    return n


@numba.njit(cache=True, nogil=True, error_model="numpy")
def accumulate_exchange(s: State, weight: float, total: float, inclusion: Float64Array) -> None:
    """Add the probability to be in after an exchange."""
    for m in range(len(inclusion)):
        inclusion[m] += weight * (1.0 if s.place[m] >= 0 else s.odds[m] / total)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def movable_member(movable: npt.NDArray[np.bool_], s: State, number: int) -> int:
    """The movable member with that number among them."""
    for i in range(s.size[0]):
        m = s.order[i]
        if movable[m]:
            if number == 0:
                return int(m)
            number -= 1
    return -1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def chances(movable: npt.NDArray[np.bool_], s: State, out: int) -> float:
    """`odds` in proportion to the probability of each feature outside to come in; returns their sum.

    The member `out`, which has just left, can come back even if rounding says that it depends on the others.
    """
    most, total = -np.inf, 0.0
    for m in range(len(movable)):
        if movable[m] and s.place[m] < 0:
            s.log_odds[m] += np.log(s.odds[m] if s.odds[m] > 0.0 or m != out else DEPENDENT)
            most = max(most, s.log_odds[m])
    for m in range(len(movable)):
        s.odds[m] = np.exp(s.log_odds[m] - most) if movable[m] and s.place[m] < 0 else 0.0
        total += s.odds[m]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_evidence(p: Problem, s: State, c: float) -> float:
    """Log evidence of the present set with slab precision c, up to a constant. The factors L are overwritten."""
    total = 0.0
    for k in range(len(p.noise)):
        system, n = part(p, k), 0
        factor, u = system.tables[L], system.vectors[U]
        for i in range(s.size[0]):
            for j in range(p.first[s.order[i]], p.first[s.order[i] + 1]):
                for h in range(n):
                    factor[n, h] = system.gram[j, system.members[h]]
                factor[n, n] = system.vectors[DIAGONAL, j] + c
                system.members[n] = j
                u[n] = system.vectors[INFORMATION, j]
                n += 1
        log_det, x = block_gain(factor, u, n)
        total += 0.5 * (n * np.log(c) - log_det)
        a, left = p.noise[k, 0], max(p.noise[k, 1] - 0.5 * x, p.noise[k, 2])
        total += 0.5 * x if a == 0.0 else -a * np.log(left)
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_slab(p: Problem, s: State, grid: Grid, i: int, j: int, rng: np.random.Generator) -> int:
    """A new position on the grid of slab precisions, by the conditional probabilities in a random window around j."""
    J = len(grid.log_c)
    start = j - int(WINDOW * rng.random())
    weights = np.empty(WINDOW)
    for w in range(WINDOW):
        weights[w] = -np.inf
        if 0 <= start + w < J:
            weights[w] = log_evidence(p, s, np.exp(grid.log_c[start + w])) + grid.log_prior[i, start + w]
    return int(start + pick_log(weights, rng))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_size(size: int, grid: Grid, j: int, rng: np.random.Generator) -> int:
    """A new position on the grid of prior sizes, by the conditional probabilities."""
    weights = np.empty(len(grid.log_kappa))
    for i in range(len(weights)):
        weights[i] = size * grid.log_kappa[i] - grid.log_normalizer[i] + grid.log_prior[i, j]
    return pick_log(weights, rng)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def pick_log(weights: Float64Array, rng: np.random.Generator) -> int:
    """A position drawn by log weights, which are overwritten."""
    most, total = -np.inf, 0.0
    for i in range(len(weights)):
        most = max(most, weights[i])
    for i in range(len(weights)):
        weights[i] = np.exp(weights[i] - most)
        total += weights[i]
    return int(pick(weights, rng.random() * total))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def simulate(
    p: Problem, s: State, grid: Grid, at: tuple[int, int], plan: tuple[float, float, int, bool],
    inclusion: Float64Array, visits: Float64Array, rng: np.random.Generator,
) -> tuple[int, int, int, float]:  # fmt: skip
    """Rounds of the process and of new hyperparameters. `plan`: η, time of a round, rounds, whether the size is fixed.

    Adds to `inclusion` (n,), and the rounds spent at each pair of hyperparameters to `visits` (I, J). Returns the last
    pair, the number of steps, and the weight of what was added to `inclusion`.
    """
    i, j = at
    eta, time, rounds, fixed = plan
    steps, weight = 0, 0.0
    for _ in range(rounds):
        moves, counted = run(p, s, grid, (i, j), eta, time, fixed, inclusion, rng)
        steps += moves
        weight += counted
        visits[i, j] += 1.0
        if len(grid.log_c) > 1:
            j = draw_slab(p, s, grid, i, j, rng)
        if len(grid.log_kappa) > 1:
            i = draw_size(s.size[0], grid, j, rng)
    return i, j, steps, weight
