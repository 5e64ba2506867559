"""What a solver says while it works, and when it did not finish."""

from collections.abc import Callable
from typing import NamedTuple

from ..types import FloatArray


class ConvergenceWarning(UserWarning):
    """The fit stopped before it settled.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=ConvergenceWarning)  # if rough probabilities will do
    >>> warnings.resetwarnings()
    """


class Progress(NamedTuple):
    """What a callback hears after every iteration.

    >>> Progress("fixed point", 3, -120.5, 4.2).stage
    'fixed point'
    """

    stage: str
    iteration: int
    elbo: float
    expected_size: float
    theta: FloatArray | None = None  # (M,) where it stands; stage B and Algorithm 1 say it
    error: float | None = None  # largest Monte Carlo error of a probability so far; the chain says it


Callback = Callable[[Progress], None]
