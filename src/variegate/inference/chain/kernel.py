"""The compiled loop: a Markov process in continuous time whose stationary distribution is the posterior over sets.

Free size (Zanella & Roberts 2019, tempered Gibbs sampling): with the odds o_m = p(m in) / p(m out) given the other
features, p_m = o_m / (1 + o_m), feature m is flipped at rate (p_m + η) / p(γ_m | the others). The rates are reversible
for the posterior, so it is invariant for any length of time, and the process can be combined with other updates that
leave it invariant: of auxiliary variables, hyperparameters, the scope. Inclusion probabilities are averages of p_m
over time. A step costs O(|S| C).

Fixed size: each member is removed at rate one, and the feature that replaces it is drawn with the probability of the
resulting set. Inclusion probabilities are averages, over these events, of the probability of being in afterwards.
"""

import numpy as np
import numpy.typing as npt

from ...compiled import numba
from ...types import FloatArray
from .evidence import draw_size, draw_slab, pick
from .odds import fill_log_odds
from .problem import DEPENDENT, Grid, Problem, State, add, rebuild, remove
from .system import FAST

LARGEST = 300.0  # log-odds are clipped here: e^300 leaves room for sums of rates


@numba.njit(cache=True, nogil=True, error_model="numpy")
def simulate(
    p: Problem, s: State, grid: Grid, at: tuple[int, int], plan: tuple[float, float, int, bool],
    inclusion: FloatArray, visits: FloatArray, rng: np.random.Generator,
) -> tuple[int, int, int, float]:  # fmt: skip
    """Alternate the process and new hyperparameters. `plan`: η, time of a round, rounds, whether the size is fixed.

    Adds to `inclusion` (n,), and the rounds spent at each pair of hyperparameters to `visits` (I, J). Returns the last
    pair, the number of steps, and the weight added to `inclusion`.
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def run(
    p: Problem, s: State, grid: Grid, at: tuple[int, int], eta: float, time: float, fixed: bool,
    inclusion: FloatArray, rng: np.random.Generator,
) -> tuple[int, float]:  # fmt: skip
    """Run for `time`, adding to `inclusion` (n,); returns the number of steps and the weight added.

    Free size: ∫ p_m dt is added. Fixed size: exchanges happen at rate n, the number of members that can move, and each
    adds 1/n times the probability of being in after it, so the mean weight is the time for any n.
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
            total = chances(p, s, out)
            accumulate_exchange(s, 1.0 / n, total, inclusion)
        m = pick(s.odds if fixed else s.log_odds, rng.random() * total)
        columns = add(p, s, m, columns, c) if s.place[m] < 0 else remove(p, s, m, columns)
        steps += 1


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def rates(movable: npt.NDArray[np.bool_], s: State, eta: float) -> float:
    """Turn log-odds into odds and return the sum of all rates; `log_odds` then holds the rates."""
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
def accumulate(s: State, weight: float, inclusion: FloatArray) -> None:
    """Add weight · p_m."""
    for m in range(len(inclusion)):
        inclusion[m] += weight * (s.odds[m] / (1.0 + s.odds[m]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def count_movable(movable: npt.NDArray[np.bool_], s: State) -> int:
    """Number of members that can move."""
    n = 0
    for i in range(s.size[0]):
        n += 1 if movable[s.order[i]] else 0
    return n


@numba.njit(cache=True, nogil=True, error_model="numpy")
def movable_member(movable: npt.NDArray[np.bool_], s: State, number: int) -> int:
    """Movable member number `number`."""
    for i in range(s.size[0]):
        m = s.order[i]
        if movable[m]:
            if number == 0:
                return int(m)
            number -= 1
    return -1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def chances(p: Problem, s: State, out: int) -> float:
    """Set `odds` proportional to the probability that each feature outside is added; returns their sum.

    The member `out`, which was just removed, can come back even if rounding makes it look dependent on the others.
    """
    movable, most, total = p.movable, -np.inf, 0.0
    for m in range(len(movable)):
        if movable[m] and s.place[m] < 0:
            dependent = s.odds[m] == 0.0 and m == out
            s.log_odds[m] += p.power * np.log(DEPENDENT) if dependent else np.log(s.odds[m])
            most = max(most, s.log_odds[m])
    for m in range(len(movable)):
        s.odds[m] = np.exp(s.log_odds[m] - most) if movable[m] and s.place[m] < 0 else 0.0
        total += s.odds[m]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def accumulate_exchange(s: State, weight: float, total: float, inclusion: FloatArray) -> None:
    """Add weight · P(m in after the exchange)."""
    for m in range(len(inclusion)):
        inclusion[m] += weight * (1.0 if s.place[m] >= 0 else s.odds[m] / total)
