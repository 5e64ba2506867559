"""The evidence of columns that a likelihood does not hold, from products with a few vectors."""

from dataclasses import dataclass

import numpy as np

from ..types import FloatArray
from .flips import Factor
from .protocol import QuadraticForm


@dataclass(frozen=True, eq=False)
class Probe:
    """What a pass over further columns multiplies them with, and what follows from the products.

    With U some columns of the likelihood, standardised, and A the precision of the (pseudo-)observations: rows are A x̃
    of U and of the fixed columns, and the information; `squares` holds the precisions where x̃ᵀAx̃ differs between
    columns.
    """

    rows: FloatArray  # (|U| + p + 1, N)
    squares: FloatArray  # (0 or 1, N)
    gram: FloatArray  # (|U|, |U|) of U, fixed columns projected out
    information: FloatArray  # (|U|,) of U
    loadings: FloatArray  # (p, |U|) of U on the fixed columns
    fixed: Factor  # of the fixed columns' precision
    total: float  # x̃ᵀAx̃ where it is the same for all columns
    shape: float = 0.0
    rate: float = 0.0
    floor: float = 0.0

    def form(self, cross: FloatArray, squares: FloatArray) -> tuple[FloatArray, QuadraticForm]:
        """Gram rows of U against w further columns (|U|, w), and the form over these, from the products with them."""
        n = len(self.information)
        L = self.fixed.half_solve(np.ascontiguousarray(cross[n:-1]))
        whole = squares[0] if len(squares) else np.full(cross.shape[1], self.total)
        diagonal = np.maximum(whole - np.square(L).sum(axis=0), 0.0)
        information = cross[-1] - self.fixed.u @ L
        form = QuadraticForm(np.empty(0), L, diagonal, information, shape=self.shape, rate=self.rate, floor=self.floor)
        return cross[:n] - self.loadings.T @ L, form
