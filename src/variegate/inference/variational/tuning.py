"""All tuning constants of the variational solvers.

`python -m benchmarks tuning` halves and doubles each of them and prints the effect on the ELBO and on the time, which
is in benchmarks/RESULTS.md. On those problems no change gains more than another seed does, except smaller steps of
the hyperparameters (FIRST_CHANGE, LARGEST_STEP: 0.1 nats at M = 1000). Those without any effect are limits for other
problems: many features, few features, gains that are not exact, a fixed size.
"""

import numpy as np

from ..target import Target

# --- starts and hyperparameters --------------------------------------------------------------------------------------

# Above this number of features a step is expensive, and more starts gain little: over ten data sets with M = 2000 the
# ELBO was -288.9, -288.2, -288.4 with one, two and four starts (logistic), -1329.3 with each (Gaussian). So the search
# stops after the first start that does not improve.
FEW_FEATURES = 256
SAME_PLACE = 0.1  # two starts reached the same optimum if no inclusion probability differs by more
LAST_ESTIMATES = 4  # a stage is judged by its last ELBO estimates: this many, or a third of the trace if that is more
ROUNDS = 6  # largest number of alternations of stage A and empirical Bayes
FIRST_CHANGE = 0.1  # smaller changes of the log prior size are ignored; twice this for the log slab precision
LAST_CHANGE = 0.25  # the same after stage B, where a change means running stage B again
SLAB_SETS = 24  # sets from which the slab precision is learned
SMALLEST_SIZE = 1.0  # lower limit of the learned prior size
PRECISION_RANGE = (1e-3, 1e6)  # of the slab
LARGEST_STEP = float(np.log(8.0))  # of the log slab precision in one update

# --- stage A: the fixed point ----------------------------------------------------------------------------------------

DAMPING = 0.7  # of steps, also in stage B
STAGE_A = 8  # iterations at most for each later start

# --- stage B: the natural gradient -----------------------------------------------------------------------------------

SETS_TIMES_FEATURES = 128_000  # sets per iteration, times M: 64 at M = 2000,
FEWEST_SETS, MOST_SETS = 16, 256  # within these limits
MOST_FIXED = 1024  # upper limit for a fixed size and few features: each set says less about features outside it
WITHOUT_GAINS = 8  # times as many sets if each informs only its own features
STEPS, STEPS_WORK = (3, 16), 1600  # steps that promise too little before stage B stops: 1600 / M within these limits
STRICT = 0.25  # F overstates the curvature of the ELBO along ridges, so stage B may gain more than it promises
LEAST = 0.1  # minimum length of a step that looks like noise; averaging removes the noise
LONGEST_STEP = 3.0  # in any θ_m
SLOWING = 5  # iterations after which half as much noise is tolerated
RIDGE = 0.05  # fraction of the diagonal added to F, for directions in which q barely varies
TOGETHER = 512  # largest number of features solved for jointly
UNDECIDED = 1e-3  # q is undecided about features with p(1 − p) above this
REPLACED = 4  # members of each set of fixed size that are replaced in turn

# --- sets that are drawn ---------------------------------------------------------------------------------------------

LEFT_OUT = 0.01  # draws ignore the least probable features, up to this expected number per set
ALWAYS = 256  # the most probable features, which are never ignored
FINAL_SETS = 400  # sets drawn from the final q, also under conditions, for its ELBO and the diagnostics

# --- approximate gains -----------------------------------------------------------------------------------------------

PAIRS = 16  # exact evaluations per batch,
PAIRS_OF_FEW = 1536  # or this number divided by M if that is more: with few features most sets are cached
MEMORY = 0.9  # factor by which earlier batches are discounted
WORTHWHILE = 1e-3  # at most as many evaluations as pairs (set, feature) with a larger variance under q


def few(target: Target) -> bool:
    """Whether every start is worth refining."""
    return target.n_features <= FEW_FEATURES


def affordable(target: Target, n: int) -> int:
    """n, or half of it if each set needs expectation propagation."""
    return n if target.exact_gains else n // 2


def n_sets(target: Target, wanted: int | None) -> int:
    """Sets per iteration of stage B."""
    most = MOST_SETS // 4 if target.evaluations_are_expensive else MOST_SETS
    if target.size is not None and target.sets_recur and target.exact_gains:
        most = MOST_FIXED
    n = affordable(target, SETS_TIMES_FEATURES) / max(target.n_features, 1)
    return wanted or int(np.clip(n, FEWEST_SETS, most))


def n_refined(target: Target) -> int:
    """Largest number of starts that stage B refines."""
    return 4 if few(target) and not target.evaluations_are_expensive else 2


def first_iterations(target: Target) -> int:
    """Iterations of stage A between two rounds of empirical Bayes."""
    return 5 if few(target) or target.exact_gains else 3


def n_steps(target: Target) -> int:
    """Number of steps that must promise too little before stage B stops."""
    most = STEPS[1] // 4 if target.evaluations_are_expensive else STEPS[1]
    return int(np.clip(STEPS_WORK // target.n_features, STEPS[0], most))


def window(target: Target) -> int:
    """Number of ELBO estimates over which it must not rise before stage B stops.

    At M = 2000 an estimate takes 0.2 s, and two more gain 0.05 nats.
    """
    enough = n_steps(target)
    return min(4 * enough, 24) if few(target) else 2 * ((enough + 1) // 2)
