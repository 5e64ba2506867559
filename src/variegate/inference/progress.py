"""Progress reports of the chains, and the warning for fits that do not converge."""

from collections.abc import Callable
from typing import NamedTuple


class ConvergenceWarning(UserWarning):
    """The fit stopped before it converged.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=ConvergenceWarning)  # if rough probabilities are enough
    >>> warnings.resetwarnings()
    """


class Progress(NamedTuple):
    """The argument of a callback.

    >>> Progress(8, 4.2, 0.05).laps
    8
    """

    laps: int
    expected_size: float
    error: float  # largest Monte Carlo error of a probability so far


Callback = Callable[[Progress], None]
