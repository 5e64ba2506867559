"""Moments of one likelihood term against a Gaussian, the inner step of expectation propagation.

For t(f) = σ(f)^e (logit) or Φ(f)^e (probit), 0 < e ≤ 1, and f ~ N(m, v):

    Z = E[t(f)],  α = ∂ log Z/∂m = Ẽ[ℓ′],  κ = −∂² log Z/∂m² = −Ẽ[ℓ″] − Ṽar(ℓ′),  ℓ = log t, Ẽ tilted.

α and κ come from ℓ′ and ℓ″, not from the tilted mean and variance, which lose all digits for small v.
"""

import math

import numpy as np

from ..compiled import numba
from ..types import FloatArray

# The trapezoidal rule converges exponentially: its error is exp(−2π²(sd/h)²) from the Gaussian, exp(−2π²/h)
# from the poles of σ at ±iπ, below 1e-9 at this step. log t is concave, so the tilted density falls at least
# as fast as N(mode, v): REACH standard deviations around the mode lose less than 1e-9.
STEP = 0.9
REACH = 6.5
# Standard deviation above which σ looks like a step, and only the variance of its blur matters: saves a grid of
# thousands of points.
WIDE = 100.0
MAX_NODES = 3000.0  # for powers e < 1 under such a wide Gaussian; the step is then resolved only roughly
LOG_2PI = math.log(2.0 * math.pi)


@numba.njit(cache=True, error_model="numpy")
def log_link(x: float, probit: bool) -> tuple[float, float, float]:
    """Log σ(x) or log Φ(x) with its first two derivatives, without overflow or cancellation in the tails."""
    if not probit:
        E = math.exp(-abs(x))
        small, large = E / (1.0 + E), 1.0 / (1.0 + E)
        return min(x, 0.0) - math.log1p(E), (small if x > 0.0 else large), -small * large
    if x > -5.0:
        cdf = 0.5 * math.erfc(-x * 0.7071067811865476)
        mills = math.exp(-0.5 * (x * x + LOG_2PI)) / cdf
        return math.log(cdf), mills, -mills * (mills + x)
    tail = -x  # continued fraction φ/Φ = t + 1/(t + 2/(t + 3/(t + …)))
    for j in range(30, 1, -1):
        tail = -x + j / tail
    excess = 1.0 / tail  # mills + x, kept apart because it is the small difference of the two
    mills = excess - x
    return -0.5 * (x * x + LOG_2PI) - math.log(mills), mills, -mills * excess


@numba.njit(cache=True, error_model="numpy")
def mode(m: float, v: float, e: float, probit: bool, x: float) -> float:
    """Mode of the tilted density to 0.2 standard deviations of the Gaussian, from the guess x.

    It solves x = m + v e ℓ′(x) with ℓ′ decreasing: Newton's method inside a bracket.
    """
    low, high, reach = -math.inf, math.inf, 0.2 * math.sqrt(v)
    for _ in range(100):
        _, slope, curvature = log_link(x, probit)
        excess = m + v * e * slope - x
        low, high = (x, high) if excess > 0.0 else (low, x)
        move = excess / (1.0 - v * e * curvature)
        if abs(move) < reach or high - low < reach:
            break
        x = x + move if low < x + move < high else 0.5 * (low + high)
    return x


@numba.njit(cache=True, error_model="numpy")
def logit_sums(m: float, v: float, x: float, h: float, half: int) -> tuple[float, float, float]:
    """Trapezoidal sums over x − half h, …, x + half h of p, p ℓ′ and p (ℓ′² + ℓ″), p = σ(f) exp(−(f−m)²/2v).

    p is relative to the Gaussian's value at x. Both exponentials are updated along the grid by multiplication.
    """
    start = x - half * h
    E, E_ratio = math.exp(-start), math.exp(-h)
    g = math.exp(((x - m) ** 2 - (start - m) ** 2) / (2.0 * v))
    g_ratio, ratio_ratio = math.exp(-h * (start - m + 0.5 * h) / v), math.exp(-h * h / v)
    total = first = second = 0.0
    for _ in range(2 * half + 1):
        sigma = 1.0 / (1.0 + E)
        slope = E * sigma
        p = g * sigma
        total += p
        first += p * slope
        second += p * slope * (slope - sigma)
        E *= E_ratio
        g *= g_ratio
        g_ratio *= ratio_ratio
    return total, first, second


@numba.njit(cache=True, error_model="numpy")
def link_sums(m: float, v: float, e: float, probit: bool, x: float, h: float, half: int) -> tuple[float, float, float]:
    """Return the same sums for any power and link, in log space."""
    total = first = second = 0.0
    for j in range(-half, half + 1):
        f = x + j * h
        value, slope, curvature = log_link(f, probit)
        p = math.exp(e * value + ((x - m) ** 2 - (f - m) ** 2) / (2.0 * v))
        total += p
        first += p * e * slope
        second += p * e * (e * slope * slope + curvature)
    return total, first, second


@numba.njit(cache=True, error_model="numpy")
def step_blur(e: float, probit: bool) -> tuple[float, float]:
    """Mean and variance of the law with distribution function σ^e: ψ(e) − ψ(1) and ψ′(e) + π²/6.

    Computed by polynomials that are exact at e = 1 and for small e. For Φ^e the same with the scale of Φ.
    """
    mean = 1.645 * e - 0.645 * e * e - 1.0 / e
    variance = 1.0 / (e * e) + math.pi**2 / 3.0 - 2.404 * e + 1.404 * e * e
    return (mean * 0.5513288954217921, variance * 0.3039635509270133) if probit else (mean, variance)


@numba.njit(cache=True, error_model="numpy")
def tilted(m: float, v: float, e: float, probit: bool, guess: float) -> tuple[float, float, float]:
    """Log Z, α and κ of one term; `guess` is near the tilted mode."""
    sd = math.sqrt(v)
    if (probit and e == 1.0) or (sd > WIDE and e * sd > 20.0):
        shift, blur = (0.0, 1.0) if probit and e == 1.0 else step_blur(e, probit)
        scale = math.sqrt(v + blur)
        value, slope, curvature = log_link((m - shift) / scale, True)
        return value, slope / scale, -curvature / (v + blur)
    x = mode(m, v, e, probit, guess)
    if x + REACH * sd < -40.0 and not probit:  # σ(f)^e is exp(e f) to machine precision
        return e * m + 0.5 * e * e * v, e, 0.0
    h = max(STEP * min(sd, 1.0), 2.0 * REACH * sd / MAX_NODES)
    half = math.ceil(REACH * sd / h)
    if e == 1.0 and abs(x) + REACH * sd < 300.0:
        total, first, second = logit_sums(m, v, x, h, half)
    else:
        total, first, second = link_sums(m, v, e, probit, x, h, half)
    alpha = first / total
    log_z = math.log(total * h) - 0.5 * ((x - m) ** 2 / v + LOG_2PI + math.log(v))
    return log_z, alpha, alpha * alpha - second / total


@numba.njit(cache=True, error_model="numpy")
def propose(
    marginals: FloatArray, sites: FloatArray, power: FloatArray, probit: bool, out: FloatArray
) -> tuple[float, float]:
    """One parallel EP update.

    marginals (2, N): mean and variance of each margin; sites (2, N): precision τ and shift ν; power (N,): e, 0
    for rows to skip; out (3, N): new τ, new ν, and the row's part of the log evidence. Returns how far the
    tilted moments are from the marginals: largest |mean difference|/sd, largest relative difference of variances.
    """
    worst_mean = worst_variance = 0.0
    for i in range(len(power)):
        m, s, tau, nu = marginals[0, i], marginals[1, i], sites[0, i], sites[1, i]
        if power[i] == 0.0:
            out[0, i] = out[1, i] = out[2, i] = 0.0
            continue
        precision = max(1.0 / s - tau, 1e-12 / s)  # positive for τ ≥ 0 except for rounding
        vc = 1.0 / precision
        mc = (m / s - nu) * vc
        log_z, alpha, kappa = tilted(mc, vc, power[i], probit, m)
        kappa = max(kappa, 0.0)  # log-concave terms have κ ≥ 0
        shrink = max(1.0 - vc * kappa, 1e-12)
        out[0, i] = kappa / shrink
        out[1, i] = (alpha + mc * kappa) / shrink
        out[2, i] = log_z + 0.5 * (math.log(vc / s) - m * m / s + mc * mc * precision)
        worst_mean = max(worst_mean, abs(mc + vc * alpha - m) / math.sqrt(s))
        worst_variance = max(worst_variance, abs(vc * shrink / s - 1.0))
    return worst_mean, worst_variance


@numba.njit(cache=True, error_model="numpy")
def log_averages(mean: FloatArray, variance: FloatArray, probit: bool) -> FloatArray:
    """Log E[σ(f)] or log E[Φ(f)] for f ~ N(mean, variance), shape (n,)."""
    out = np.empty(len(mean))
    for i in range(len(mean)):
        out[i] = tilted(mean[i], variance[i], 1.0, probit, mean[i])[0]
    return out
