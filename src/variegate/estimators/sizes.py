"""How many features: requested and possible numbers."""

from typing import Any

from ..checks import is_number, is_whole
from ..messages import Argument, Message, Words

ASKED = Argument("n_features_to_select")


def number_to_select(asked: Any, n_candidates: int, what: str | Argument = ASKED) -> int | None:
    """Return a size as a number of features; `check_size` checks that a set can be that large."""
    if asked is None:
        return None
    if is_whole(asked):
        return int(asked)
    if is_number(asked) and 0 < asked <= 1:
        return max(int(asked * n_candidates), 1)
    raise ValueError(
        Message(
            what,
            f" must be a whole number, or a share above 0 and at most 1, got {asked!r}.",
        )
    )


def check_size(size: int | None, asked: Any, n_candidates: int, most: int, what: str | Argument = ASKED) -> None:
    """Reject a size that no set can have: sets hold at most `most` features, the rank of Φ; `asked` was given."""
    if size is None:
        return
    if not 0 < size <= n_candidates:
        raise ValueError(
            Message(
                what,
                f" must be between 1 and {n_candidates}, the number of features to choose from, got {asked!r}. These "
                "are the columns, or groups of them, that vary and are neither screened out nor always included.",
            )
        )
    if size > most:
        raise ValueError(
            Message(
                Argument(what.name, asked) if isinstance(what, Argument) else f"{what}={asked!r}",
                f" asks for {size} features, but `similarity` has rank {most}, so at most {most} of {n_candidates} "
                "features can be in a set together: the others are copies or combinations of those. "
                f"Ask for at most {most}",
                Words(
                    ", or count copies as separate features with diversity=0",
                    "; with --coordinates, a smaller --bandwidth separates more of them",
                ),
                ".",
            )
        )


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
