"""How many features: requested and possible numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import is_number, is_whole
from ..dpp import LowRankDPP
from ..messages import Argument, Message, Words


def largest_size(phi: NDArray[Any] | None, n_candidates: int) -> int:
    """Return how many features fit in a set: all of them, or the rank of Φ (U, d) if similarity is used."""
    return n_candidates if phi is None else LowRankDPP(phi, np.zeros(n_candidates)).rank


def number_to_select(asked: Any, n_candidates: int, most: int | None = None) -> int | None:
    """Return n_features_to_select as a number of features, of which at most `most` fit in a set."""
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
                f" must be between 1 and {n_candidates}, the number of features to choose from, got {asked!r}. These "
                "are the columns, or groups of them, that vary and are neither screened out nor always included.",
            )
        )
    if most is not None and size > most:
        raise ValueError(
            Message(
                Argument("n_features_to_select", asked),
                f" asks for {size} features, but `similarity` has rank {most}, so at most {most} of {n_candidates} "
                "features can be in a set together: the others are copies or combinations of those. "
                f"Ask for at most {most}",
                Words(
                    ', or count copies as separate features with prior="bernoulli", posterior="bernoulli"',
                    "; with --coordinates, a smaller --bandwidth separates more of them",
                ),
                ".",
            )
        )
    return size


def prior_size(asked: float | None, most: int, first: float) -> float:
    """Return the prior's expected size, below `most`; without a given size, the `first` guess."""
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
