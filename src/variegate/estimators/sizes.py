"""How many features: what is asked for, and what is possible."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import is_number, is_whole
from ..dpp import LowRankDPP
from ..messages import Argument, Message, Words


def largest_size(phi: NDArray[Any] | None, n_candidates: int) -> int:
    """How many features can be in a set together: all of them, or, where similarity counts, the rank of Φ (U, d)."""
    return n_candidates if phi is None else LowRankDPP(phi, np.zeros(n_candidates)).rank


def number_to_select(asked: Any, n_candidates: int, most: int | None = None) -> int | None:
    """n_features_to_select as a number of candidates, of which at most `most` can be in a set together."""
    if asked is None:
        return None
    if is_whole(asked):
        size = int(asked)
    elif is_number(asked) and 0 < asked <= 1:
        size = max(int(asked * n_candidates), 1)
    else:
        raise ValueError(
            Message(
                Argument("n_features_to_select"),
                f" must be a whole number, or a share above 0 and at most 1, got {asked!r}.",
            )
        )
    if not 0 < size <= n_candidates:
        raise ValueError(
            Message(
                Argument("n_features_to_select"),
                f" must be between 1 and the {n_candidates} candidates, got {asked!r}. Candidates are the columns, or "
                "groups of them, that vary and are neither screened out nor always included.",
            )
        )
    if most is not None and size > most:
        raise ValueError(
            Message(
                Argument("n_features_to_select", asked),
                f" asks for {size} features, and at most {most} of the {n_candidates} candidates can be in a set "
                f"together: the others are copies or combinations of those, as `similarity` (of rank {most}) has it. "
                f"Ask for at most {most}",
                Words(
                    ', or let copies count as features of their own by prior="bernoulli", posterior="bernoulli"',
                    "; with --coordinates, a smaller --bandwidth tells more of them apart",
                ),
                ".",
            )
        )
    return size


def prior_size(asked: float | None, most: int, first: float) -> float:
    """The prior's expected size, below `most`; the `first` guess where it is to be learned."""
    if asked is None:
        return min(first, most / 4)
    if asked >= most:
        raise ValueError(
            Message(
                Argument("expected_size"),
                f" must be below {most}, the number of features that can be in a set together, got {asked}.",
            )
        )
    return float(asked)
