"""Progress reports of the solvers, and the warning for fits that do not converge."""

from collections.abc import Callable
from typing import NamedTuple

from ..types import FloatArray


class ConvergenceWarning(UserWarning):
    """The fit stopped before it converged.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=ConvergenceWarning)  # if rough probabilities are enough
    >>> warnings.resetwarnings()
    """


class Progress(NamedTuple):
    """The argument of a callback.

    >>> Progress("fixed point", 3, -120.5, 4.2).stage
    'fixed point'
    """

    stage: str
    iteration: int
    elbo: float
    expected_size: float
    theta: FloatArray | None = None  # (M,) current θ of variational solvers
    error: float | None = None  # of the chain: largest Monte Carlo error of a probability so far


Callback = Callable[[Progress], None]
