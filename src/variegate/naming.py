"""Features given by name, by position or as a mask."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .data import did_you_mean
from .messages import brief
from .sets import as_index_set
from .types import IntArray


def find_positions(
    given: Any, names: npt.NDArray[Any] | None, n_features: int, what: str, labels: Sequence[Any] | None = None
) -> IntArray:
    """Sorted positions of features; `what` is the name of the argument, for errors.

    A label of several columns means all of them, unless a column has that name.

    >>> find_positions(["b"], np.array(["a", "b"]), 2, "include")
    array([1])
    >>> find_positions("sex", np.array(["a", "sex=f", "sex=m"]), 3, "include", [None, "sex", "sex"])
    array([1, 2])
    """
    array = np.atleast_1d(np.asarray(list(given) if isinstance(given, set | frozenset) else given))
    if array.dtype.kind not in "OUST":
        return as_index_set(array, n_features, what)
    if names is None:
        raise ValueError(
            f"{what} holds {array.tolist()[0]!r}, but the columns have no names; give positions, or data with names "
            "(a data frame, or names= of a Posterior)."
        )
    found = [_positions(label, names, what, labels or ()) for label in array.tolist()]
    return as_index_set([position for some in found for position in some], n_features, what)


def _positions(label: Any, names: npt.NDArray[Any], what: str, labels: Sequence[Any]) -> list[int]:
    found = np.flatnonzero(np.asarray(names) == label)
    members = [i for i, other in enumerate(labels) if isinstance(other, str) and other == label]
    if len(found) == 0 and members:
        return members
    if len(found) == 0:
        close = did_you_mean(str(label), [*names, *(other for other in labels if isinstance(other, str))])
        raise ValueError(
            brief(f"{what}: there is no feature called {label!r} among the {len(names)} columns{close or '.'}")
        )
    if len(found) > 1:
        raise ValueError(
            brief(f"{what}: columns {found[:5].tolist()} are all called {label!r}; give a position instead.")
        )
    return [int(found[0])]


def column_labels(names: npt.NDArray[Any] | None, n_columns: int) -> npt.NDArray[Any]:
    """Names of columns (M,); x0, x1, … if there are none.

    >>> column_labels(None, 2).tolist()
    ['x0', 'x1']
    """
    return np.array([f"x{i}" for i in range(n_columns)] if names is None else names, dtype=object)
