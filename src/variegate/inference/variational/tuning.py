"""Every number of the variational solvers, in one place.

`python -m benchmarks tuning` halves and doubles each of them and prints what that does to the ELBO and to the time;
its table is their measurement (half an hour; not yet in benchmarks/RESULTS.md).
"""

import numpy as np

from ..target import Target

# --- starts and hyperparameters --------------------------------------------------------------------------------------

# Above this number of features a step is expensive, and more starts bring little: over ten data sets of M = 2000 the
# ELBO was -288.9, -288.2, -288.4 with one, two and four (logistic), -1329.3 with each (Gaussian). So the first
# that does not improve is the last.
FEW_FEATURES = 256
SAME_PLACE = 0.1  # starts whose inclusion probabilities differ by no more have met
LAST_ESTIMATES = 4  # of the ELBO, at least, or a third of the trace: what a stage is judged by
ROUNDS = 6  # of stage A and empirical Bayes in turn, at most
FIRST_CHANGE = 0.1  # least change, in logs, of the prior's size; twice that of the slab precision
LAST_CHANGE = 0.25  # the same after stage B: another run of it follows
SLAB_SETS = 24  # from which the slab precision is learned
SMALLEST_SIZE = 1.0  # the prior's expected size is never learned below one feature
PRECISION_RANGE = (1e-3, 1e6)  # of the slab
LARGEST_STEP = float(np.log(8.0))  # of its logarithm, at once

# --- stage A: the fixed point ----------------------------------------------------------------------------------------

DAMPING = 0.7  # of stage B as well
STAGE_A = 8  # iterations of a later start

# --- stage B: the natural gradient -----------------------------------------------------------------------------------

SETS, SETS_AT = 64, 2000  # sets an iteration at SETS_AT features; each set informs, and costs, all features
FEWEST_SETS, MOST_SETS = 16, 256
MOST_FIXED = 1024  # a set of fixed size says less of the others
WITHOUT_GAINS = 8  # times as many sets where each informs only its own features
STEPS, STEPS_WORK = (3, 16), 1600  # steps that must promise nothing, 1600 / M within these bounds
STRICT = 0.25  # F overstates how curved the ELBO is along ridges: stage B may have more to gain than it promises
LEAST = 0.1  # of a step that looks like nothing but noise; averaging takes care of it
LONGEST_STEP = 3.0  # in any θ_m
SLOWING = 5  # iterations after which half as much noise is borne
RIDGE = 0.05  # share of the diagonal added to F, against directions in which q hardly varies
TOGETHER = 512  # at most this many features share a step
UNDECIDED = 1e-3  # p(1 − p) above this
REPLACED = 4  # members of a set of fixed size that are replaced in turn

# --- sets that are drawn ---------------------------------------------------------------------------------------------

LEFT_OUT = 0.01  # expected number of features left out of a draw,
ALWAYS = 256  # of which this many are always in
FINAL_SETS = 400  # behind the diagnostics

# --- approximate gains -----------------------------------------------------------------------------------------------

PAIRS = 16  # exact evaluations a batch,
PAIRS_OF_FEW = 1536  # or this many by the number of features: few features have few sets, most of them remembered
MEMORY = 0.9  # weight of the past
WORTHWHILE = 1e-3  # pairs with less variance than this under q do not matter


def few(target: Target) -> bool:
    """Whether every start is worth refining."""
    return target.n_features <= FEW_FEATURES


def affordable(target: Target, n: int) -> int:
    """n sets, or half as many where each needs expectation propagation."""
    return n if target.exact_gains else n // 2


def n_sets(target: Target, wanted: int | None) -> int:
    """Sets an iteration of stage B."""
    most = MOST_SETS // 4 if target.evaluations_are_expensive else MOST_SETS
    if target.size is not None and target.sets_recur and target.exact_gains:
        most = MOST_FIXED
    return wanted or int(np.clip(affordable(target, SETS) * SETS_AT / max(target.n_features, 1), FEWEST_SETS, most))


def n_refined(target: Target) -> int:
    """Starts that stage B refines, at most."""
    return 4 if few(target) and not target.evaluations_are_expensive else 2


def first_iterations(target: Target) -> int:
    """Iterations of stage A between two rounds of empirical Bayes."""
    return 5 if few(target) or target.exact_gains else 3


def n_steps(target: Target) -> int:
    """Steps of stage B that must promise nothing."""
    most = STEPS[1] // 4 if target.evaluations_are_expensive else STEPS[1]
    return int(np.clip(STEPS_WORK // target.n_features, STEPS[0], most))


def window(target: Target) -> int:
    """Estimates of the ELBO over which it must have stopped rising.

    At M = 2000 an estimate costs two tenths of a second, and two more bring a twentieth of a nat.
    """
    enough = n_steps(target)
    return min(4 * enough, 24) if few(target) else 2 * ((enough + 1) // 2)
