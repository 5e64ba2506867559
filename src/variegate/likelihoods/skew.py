"""The leading term that expectation propagation omits from log p(y|S).

EP's Gaussian q has the mean and variance of every tilted law q_i; the first thing it lacks is their third cumulants.
With a_i the skewness of q_i and r_ij the correlation of the margins f_i and f_j under q,

    log p(y|S) ≈ log Z_EP + 1/12 Σ_{i≠j} a_i a_j r_ij³

(Opper, Paquet & Winther 2013, "Perturbative corrections for approximate inference in Gaussian latent variable
models"). The sum is |Σ_i a_i v_i⊗v_i⊗v_i|² with unit vectors v_i of k weights, minus the terms i = j: O(Nk³), or
O(N²k) if that is less.
"""

import math

import numpy as np

from ..compiled import numba
from ..sets import row_blocks
from ..types import FloatArray
from .tilted import MAX_NODES, STEP, log_link, mode

REACH = 5.0  # standard deviations around the mode: four digits, plenty for a term of a few hundredths


def correction(V: FloatArray, copies: FloatArray, skewness: FloatArray) -> float:
    """1/12 Σ_{i≠j} a_i a_j r_ij³; V (k, N) has r_ij = v_iᵀv_j / |v_i||v_j|, and each row counts `copies` times."""
    V = V / np.sqrt(np.einsum("ij,ij->j", V, V))
    a = copies * skewness
    return (cubes(V, a) - float(a @ skewness)) / 12.0


def cubes(V: FloatArray, a: FloatArray) -> float:
    """Σ_ij a_i a_j (v_iᵀv_j)³ for V (k, N), a (N,)."""
    return _tensor_square(V, a) if len(V) ** 2 < 3 * V.shape[1] else _gram_cube(V, a)


def _tensor_square(V: FloatArray, a: FloatArray) -> float:
    """|Σ_i a_i v_i⊗v_i⊗v_i|², from its entries p ≤ q, r: the tensor is symmetric."""
    total = 0.0
    for p, row in enumerate(V):
        entries = np.square((V[p:] * (a * row)) @ V[p:].T)
        total += 3.0 * float(entries[1:].sum()) + float(entries[0, 0])
    return total


def _gram_cube(V: FloatArray, a: FloatArray) -> float:
    """The same from r_ij = v_iᵀv_j, a block of rows at a time."""
    grams = ((a[block], V[:, block].T @ V) for block in row_blocks(V.shape[1], V.shape[1]))
    return sum(float(part @ (G * G * G @ a)) for part, G in grams)


@numba.njit(cache=True, error_model="numpy")
def skewnesses(marginals: FloatArray, sites: FloatArray, power: FloatArray, probit: bool) -> FloatArray:
    """Third cumulant of each tilted law over its standard deviation cubed (N,); 0 for rows to skip.

    At EP's fixed point the tilted laws have the variances of the marginals (2, N).
    """
    out = np.zeros(len(power))
    for i in range(len(power)):
        m, s, tau, nu = marginals[0, i], marginals[1, i], sites[0, i], sites[1, i]
        if power[i] > 0.0:
            vc = 1.0 / max(1.0 / s - tau, 1e-12 / s)
            out[i] = skewness((m / s - nu) * vc, vc, power[i], probit, m)
    return out


@numba.njit(cache=True, error_model="numpy")
def skewness(m: float, v: float, e: float, probit: bool, guess: float) -> float:
    """Skewness of t(f)^e N(f; m, v), by the trapezoidal rule of `tilted`."""
    x, sd = mode(m, v, e, probit, guess), math.sqrt(v)
    h = max(STEP * min(sd, 1.0), 2.0 * REACH * sd / MAX_NODES)
    half = math.ceil(REACH * sd / h)
    top = e * log_link(x, probit)[0] - (x - m) ** 2 / (2.0 * v)
    total = first = second = third = 0.0
    for j in range(-half, half + 1):
        d = j * h / sd
        f = x + j * h
        p = math.exp(e * log_link(f, probit)[0] - (f - m) ** 2 / (2.0 * v) - top)
        total += p
        first += p * d
        second += p * d * d
        third += p * d * d * d
    mean, square = first / total, second / total
    variance = square - mean * mean
    return float((third / total - 3.0 * mean * square + 2.0 * mean**3) / variance**1.5)
