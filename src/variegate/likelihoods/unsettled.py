"""Sets whose approximate evidence did not converge."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..messages import counted
from ..types import IntArray


class EvidenceWarning(UserWarning):
    """The approximate evidence of some sets did not converge, so that their probability is rough.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=EvidenceWarning)
    >>> warnings.resetwarnings()
    """


@dataclass
class Unsettled:
    """The sets whose evidence did not converge, shared by all twins of a likelihood.

    The first of them is a warning, unless a fit counts them, which warns once at its end.

    >>> import numpy as np
    >>> found = Unsettled(counting=True)
    >>> found.add(np.array([0, 2]), "Laplace's method stopped up to 0.1 nats below the mode")
    >>> len(found.sets)
    1
    """

    counting: bool = False
    sets: dict[bytes, str] = field(default_factory=dict)  # and what happened

    def add(self, S: IntArray, what: str) -> None:
        """Note the set S."""
        self.sets[S.tobytes()] = what
        if len(self.sets) == 1 and not self.counting:
            _warn([self], stacklevel=6)


def unsettled_of(likelihoods: Sequence[Any]) -> list[Unsettled]:
    """The notes on evidences that did not converge, of those likelihoods that keep some.

    >>> import numpy as np
    >>> from variegate.likelihoods import Gaussian
    >>> unsettled_of([Gaussian(np.eye(3), np.arange(3.0))])
    []
    """
    return [likelihood.unsettled for likelihood in likelihoods if hasattr(likelihood, "unsettled")]


def end_of_fit(found: Sequence[Unsettled], stacklevel: int) -> None:
    """Warn of all sets that a fit noted."""
    _warn(found, stacklevel + 1)
    for some in found:
        some.counting = False


def _warn(found: Sequence[Unsettled], stacklevel: int) -> None:
    sets = {S: what for some in found for S, what in some.sets.items()}
    if sets:
        warnings.warn(
            f"The evidence of {counted(len(sets), 'set')} did not converge, so that their probability "
            f"is rough ({next(iter(sets.values()))}); a larger slab_precision makes it converge.",
            EvidenceWarning,
            stacklevel=stacklevel,
        )
