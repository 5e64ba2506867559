"""The distribution q as the page's explorer needs it: a factor of a calm marginal kernel, rounded to 24 bits.

The page computes conditional probabilities from a factor of the marginal kernel K = FFᵀ. Where the data demand a
feature, K_mm is 1 − ε, and what would happen without it is a ratio of numbers of the size of ε, which rounding wipes
out. So the page gets the kernel K0 of a calmer twin q0: features with a weight L_mm above CALM are lowered to
L_mm = 1, and the page raises them back, e^lift, in the same step that includes and excludes (see kernel.js).

    unit rows of F,  u_m = φ_m C^{-T} / (‖φ_m‖ ρ_m),  CCᵀ = I + BᵀB,  B = diag(e^{(θ − lift)/2})Φ,
    ‖f_m‖ = ρ_m e^{(log L_mm − lift_m)/2}

Lengths are apart from rows, so that features of tiny probability can be included too. Marginals of a DPP are a DPP:
where only the most probable candidates are kept, their conditional probabilities stay those of the whole.
"""

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..dpp import LowRankDPP
from ..dpp.span import log_row_norms, unit_rows
from ..sets import row_blocks
from ..types import FloatArray, IntArray

KEPT = 4000  # candidates in the page
ROOM = 2_000_000  # numbers in the factor; three bytes each
CALM = np.log(30.0)  # log L_mm above which a feature is lowered
LOWERED = 256  # features at most: each costs the page M·d multiplications
TOP = 2**23 - 1


def kept_candidates(probability: FloatArray, chosen: IntArray, dimensions: int) -> IntArray:
    """Positions of the candidates that the page holds: all of them, or the chosen and the most probable, sorted."""
    M = len(probability)
    room = min(M, KEPT, max(ROOM // max(dimensions, 1), int(ROOM**0.5)))
    order = np.argsort(-probability, kind="stable")
    first = np.concatenate([chosen, order[~np.isin(order, chosen)]])
    return np.sort(first[: max(room, len(chosen))]).astype(np.int64)


def embedded_kernel(q: Any, kept: IntArray) -> dict[str, Any]:
    """JSON of q over the kept candidates; see `open` in kernel.js."""
    if not isinstance(q, LowRankDPP):
        return {"kind": "independent", "log_diagonal": as_text(q.theta[kept])}
    log_norms = log_row_norms(q.phi)
    log_diagonal = np.where(np.isfinite(log_norms), q.theta + 2 * log_norms, -1e300)
    raised = demanded(log_diagonal, kept)
    lift = np.zeros(len(log_diagonal))
    lift[kept[raised]] = log_diagonal[kept[raised]]
    C = calm_factor(q.phi, log_norms, log_diagonal - lift)
    rows = linalg.solve_triangular(C, unit_rows(q.phi[kept], log_norms[kept]).T, lower=True).T
    H = C.T @ C  # cosines of Φ are ρ_i ρ_j u_iᵀ H u_j
    if rows.shape[1] > len(rows):
        Q, R = np.linalg.qr(rows.T)
        rows, H = R.T, Q.T @ H @ Q
    rho = np.linalg.norm(rows, axis=1)
    triangle = np.linalg.cholesky(H)
    units = np.divide(rows, rho[:, None], where=rho[:, None] > 0, out=np.zeros_like(rows))
    text, scale = rounded_rows(units)
    return {
        "kind": "dpp",
        "dimensions": rows.shape[1],
        "rows": text,
        "scale": as_text(scale),
        "rho": as_text(rho),
        "log_diagonal": as_text(log_diagonal[kept]),
        "triangle": as_text(triangle[np.tril_indices(len(triangle))].astype("<f4")),
        "raised": raised.tolist(),
        "lift": lift[kept[raised]].tolist(),
    }


def demanded(log_diagonal: FloatArray, kept: IntArray) -> IntArray:
    """Which of the kept candidates are lowered, as positions among the kept; the heaviest if there are too many."""
    heavy = np.flatnonzero(log_diagonal[kept] > CALM)
    heaviest = np.argsort(-log_diagonal[kept][heavy], kind="stable")[:LOWERED]
    return np.sort(heavy[heaviest])


def calm_factor(phi: NDArray[Any], log_norms: FloatArray, log_diagonal: FloatArray) -> FloatArray:
    """Lower Cholesky factor C of I + BᵀB (d, d), for rows of B of squared length e^{log_diagonal}."""
    M, d = phi.shape
    gram = np.eye(d)
    with np.errstate(under="ignore"):
        for block in row_blocks(M, d):
            rows = unit_rows(phi[block], log_norms[block]) * np.exp(log_diagonal[block] / 2)[:, None]
            gram += rows.T @ rows
    return np.asarray(np.linalg.cholesky(gram), dtype=np.float64)


def rounded_rows(rows: FloatArray) -> tuple[str, FloatArray]:
    """Rows (m, d) as 24-bit integers, low byte first, in base64; and what one stands for in each row (m,)."""
    scale = np.abs(rows).max(axis=1, initial=0.0) / TOP
    integers = np.rint(np.divide(rows, scale[:, None], where=scale[:, None] > 0, out=np.zeros_like(rows)))
    three = np.ascontiguousarray(integers.astype("<i4")).view(np.uint8).reshape(-1, 4)[:, :3]
    return b64encode(three.tobytes()).decode(), scale


def as_text(values: NDArray[Any]) -> str:
    """Base64 of the numbers: float32 stays, everything else becomes float64; least significant byte first."""
    kind = "<f4" if values.dtype == np.float32 else "<f8"
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
