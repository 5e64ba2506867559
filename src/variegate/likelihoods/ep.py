"""Expectation propagation in weight space: O(Nk²) per sweep, no N×N array.

All sites are updated together, so a sweep is a few matrix products. Sweeps converge fast if each site has little
leverage (k ≪ N); if the distance to the fixed point grows, the step is halved for a while.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from ..types import FloatArray
from .form import Factor, factorise
from .skew import correction, skewnesses
from .tilted import propose

# EP's evidence is stationary in its sites, so its error is then about 1e-7; that of the skew term 1e-5, of gains 1e-4.
TOLERANCE = 1e-5
# Inside a fit. The error of the evidence is a few 1e-4. Gains below six nats, which leave a feature undecided, are off
# by a few hundredths (frozen sites cost a few tenths); larger gains, of tens or hundreds of nats, may be off by nats.
# Saves one sweep in four.
ROUGH_TOLERANCE = 3e-4
# After PATIENCE sweeps the tolerance is GOOD_ENOUGH, because near-separable classes converge slowly. The error of the
# evidence is then 1e-4, that of gains a few hundredths.
PATIENCE, GOOD_ENOUGH = 40, 1e-3
MAX_SWEEPS = 200
# Above this number of rows the skew term is a third of the work and small. Measured on 30 sets of 20 of 200
# columns, c = 1: 0.022 ± 0.004 at N = 100, 0.014 ± 0.003 at 200, 0.008 ± 0.002 at 500.
SMALL_SAMPLE = 200
# Tolerances are for ROWS rows. Errors of sites add up: with ten times the rows, each may be off by a tenth as much.
ROWS, FINEST = 500, 1e-9


class Problem(NamedTuple):
    """Terms t(z_iᵀw)^copies, w ~ N(0, diag(prior)⁻¹); the rows z_i carry the sign of the label."""

    Zt: FloatArray  # (k, N)
    prior: FloatArray  # (k,)
    copies: FloatArray  # (N,) how many times each term counts, each time with its own site
    power: FloatArray  # (N,) exponent of each term, in (0, 1], or 0 to skip the row
    probit: bool


class Solution(NamedTuple):
    """Converged sites, and the Gaussian over the weights that they define."""

    sites: FloatArray  # (2, N) precision τ and shift ν of each copy
    factor: Factor
    log_evidence: float
    gap: float  # distance from the fixed point if the sites did not converge, else 0


def cold_sites(power: FloatArray) -> FloatArray:
    """Sites of the quadratic expansion of log σ at 0: close enough to keep cavities moderate."""
    return np.stack([0.25 * power, 0.5 * power])


def solve(problem: Problem, start: FloatArray, tolerance: float = TOLERANCE) -> Solution:
    """Iterate from the sites `start` (2, N) until tilted moments equal marginals."""
    sites, step, before = start, 1.0, np.inf
    out = np.empty((3, len(problem.power)))
    rows = float(problem.copies[problem.power > 0].sum())  # weights are repeated rows, so they count as such
    tolerance = max(tolerance * min(1.0, ROWS / max(rows, 1.0)), FINEST)
    for sweep in range(1, MAX_SWEEPS + 1):
        factor, V, marginals = _marginals(problem, sites)
        gap = max(propose(marginals, sites, problem.power, problem.probit, out))
        if gap < (tolerance if sweep <= PATIENCE else GOOD_ENOUGH):
            gap = 0.0
            break
        step = max(0.5 * step, 0.05) if gap > before else min(1.5 * step, 1.0)
        before = gap
        sites = sites + step * (out[:2] - sites) if step < 1.0 else out[:2].copy()
    log_prior = float(np.log(problem.prior).sum())
    value = 0.5 * (log_prior - factor.log_det + factor.explained) + float(problem.copies @ out[2])
    if rows <= SMALL_SAMPLE:
        value += correction(V, problem.copies, skewnesses(marginals, sites, problem.power, problem.probit))
    return Solution(sites, factor, value, gap)


def _marginals(problem: Problem, sites: FloatArray) -> tuple[Factor, FloatArray, FloatArray]:
    """Factor A = LLᵀ of the posterior precision, L⁻¹Zᵀ (k, N), and mean and variance (2, N) of each margin."""
    Zt, copies = problem.Zt, problem.copies
    # a C-ordered matrix is its own transpose in F order, and syrk does half the work of a matrix product
    A = blas.dsyrk(1.0, (Zt * np.sqrt(copies * sites[0])).T, trans=1, lower=1).T
    factor = factorise(A, Zt @ (copies * sites[1]), problem.prior)
    V = factor.half_solve(Zt.copy())
    marginals = np.empty((2, Zt.shape[1]))
    np.matmul(factor.u, V, out=marginals[0])
    np.einsum("ij,ij->j", V, V, out=marginals[1])
    return factor, V, marginals
