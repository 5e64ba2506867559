"""Which columns can be selected: some are always included, some screened out, some grouped."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .naming import find_positions
from .similarity import group_codes, item_names
from .types import FloatArray, IntArray

_SOME_ROWS = 64  # enough to see that most groups are not categories
ALWAYS, LEFT_OUT = -1, -2  # places of columns that belong to no feature
FORCED = 500.0  # larger log-odds amount to forcing a column in or out


@dataclass(frozen=True)
class Candidates:
    """The M columns of X as the model sees them.

    `columns` (m,), sorted, can be selected; `unit` (m,) is the feature that each belongs to, numbered 0, 1, …;
    `always` (p,) are in every set. If each row has exactly one column of a category, the most common column is left
    out, since the intercept covers it: such `references` (r,) belong to `reference_units` (r,), −1 if always included.
    """

    columns: IntArray
    unit: IntArray
    always: IntArray
    n_columns: int
    references: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    reference_units: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def n_units(self) -> int:
        """Number of features to select from."""
        return int(self.unit.max()) + 1

    @property
    def is_grouped(self) -> bool:
        """Whether some feature has several columns."""
        return self.n_units < len(self.columns)

    @cached_property
    def places(self) -> IntArray:
        """The feature of each column (M,); ALWAYS for columns in every set, LEFT_OUT for columns in none."""
        return self.spread(np.arange(self.n_units), elsewhere=LEFT_OUT, always=ALWAYS).astype(np.int64)

    @cached_property
    def first_columns(self) -> IntArray:
        """The first column of each feature (U,)."""
        return self.columns[np.unique(self.unit, return_index=True)[1]]

    def columns_of(self, S: IntArray) -> IntArray:
        """Sorted columns of a set of features, with those always included."""
        if self.is_grouped or len(self.references):
            return np.flatnonzero(self.mask(S))
        return np.sort(np.concatenate([self.columns[S], self.always]))

    def of(self, X: Any) -> tuple[Any, Any]:
        """Return the columns to select from, and those always included (None if there are none), of a table (n, M)."""
        chosen = X if len(self.columns) == X.shape[1] else X[:, self.columns]
        return chosen, (X[:, self.always] if len(self.always) else None)

    def spread(self, values: NDArray[Any], elsewhere: float = 0.0, always: float = 0.0) -> NDArray[Any]:
        """Values of the features (U,) as values of all columns (M,)."""
        out = np.full(self.n_columns, elsewhere, dtype=np.result_type(values, type(elsewhere)))
        out[self.columns], out[self.always] = values[self.unit], always
        for column, unit in zip(self.references, self.reference_units, strict=True):
            out[column] = always if unit < 0 else values[unit]
        return out

    def gather(self, values: FloatArray) -> FloatArray:
        """Values of all columns (M,) as values of the features (U,): means over their columns."""
        counts = np.bincount(self.unit)
        return np.bincount(self.unit, weights=values[self.columns]) / counts

    def mask(self, S: IntArray) -> NDArray[np.bool_]:
        """Columns (M,) of a set of features, with those always included."""
        chosen = np.zeros(self.n_units, dtype=bool)
        chosen[S] = True
        return self.spread(chosen, elsewhere=False, always=True)

    def unit_names(self, names: NDArray[Any], labels: Sequence[Any] | None = None) -> NDArray[Any]:
        """Names of the features: of their columns, joined by "+", or the label of a category.

        A category is a feature whose columns are all called "label=…".
        """
        joined: list[list[int]] = [[] for _ in range(self.n_units)]
        for column, unit in zip(self.columns.tolist(), self.unit, strict=True):
            joined[unit].append(column)
        return np.array([_name(columns, names, labels) for columns in joined], dtype=object)


def choose_candidates(
    n_columns: int,
    always: IntArray,
    groups: NDArray[Any] | None,
    kept: NDArray[np.bool_] | None = None,
    varying: NDArray[np.bool_] | None = None,
    references: IntArray | None = None,
) -> Candidates:
    """Divide M columns into those always included, those to select from, and the rest.

    `kept` (M,) passed screening; a group is kept if one of its columns is. Columns that are not `varying` (M,) and the
    `references` of categories are never selected.
    """
    unit = np.arange(n_columns) if groups is None else groups
    references = np.empty(0, dtype=np.int64) if references is None else references
    if groups is not None and np.isin(unit[always], np.delete(unit, always)).any():
        raise ValueError(
            "A group has columns both inside and outside of always_include; take all of them (a category "
            "by its name) or none."
        )
    open_ = np.ones(n_columns, dtype=bool)
    open_[always] = False
    if not open_.any():
        raise ValueError(f"All {n_columns} columns are in always_include: nothing is left to choose from.")
    if kept is not None:
        open_ &= np.isin(unit, unit[kept])
    if varying is not None:
        open_ &= varying
    open_[references] = False
    columns = np.flatnonzero(open_)
    if not len(columns):
        raise ValueError(
            "Nothing is left to choose from: all columns are constant (or vary by less than 1e-150), apart from those "
            "in always_include."
        )
    # features are numbered by their first column: without groups they are the columns in order
    _, first, inverse = np.unique(unit[columns], return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[inverse]
    of_code = dict(zip(unit[columns].tolist(), number.tolist(), strict=True)) | dict.fromkeys(
        unit[always].tolist(), -1
    )
    present = np.array([r for r in references.tolist() if unit[r] in of_code], dtype=np.int64)
    units = np.array([of_code[unit[r]] for r in present.tolist()], dtype=np.int64)
    return Candidates(columns, number, np.setdiff1d(always, present), n_columns, present, units)


def reference_columns(X: Any, groups: NDArray[Any] | None, weights: FloatArray | None) -> IntArray:
    """The most common column of each group that is a category: zeros and ones, with a single 1 in each row."""
    found = []
    for group in np.unique(groups) if groups is not None else ():
        columns = np.flatnonzero(groups == group)
        if len(columns) > 1 and _is_category(X[:_SOME_ROWS, columns]) and _is_category(X[:, columns]):
            block = X[:, columns]
            counts = np.asarray(block.sum(axis=0) if weights is None else weights @ block).ravel()
            found.append(int(columns[counts.argmax()]))
    return np.array(sorted(found), dtype=np.int64)


def _is_category(block: Any) -> bool:
    dense = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
    return bool(np.isin(dense, (0, 1)).all() and (dense.sum(axis=1) == 1).all())


def _name(columns: list[int], names: NDArray[Any], labels: Sequence[Any] | None) -> str:
    label = None if labels is None else labels[columns[0]]
    own = [str(names[column]) for column in columns]
    if isinstance(label, str) and all(name.startswith(f"{label}=") for name in own):
        return label
    return "+".join(own)


def by_column(
    given: Any, names: NDArray[Any] | None, n_columns: int, what: str, labels: Sequence[Any] | None = None
) -> list[Any] | None:
    """One value per column, from a sequence, or from a mapping (None for columns that it lacks).

    A mapping is {column: value}, or a pandas Series indexed by names if the columns have names. The label of several
    columns means all of them.
    """
    if given is None:
        return None
    if names is not None and item_names(given) is not None:
        given = dict(zip(given.index, given, strict=True))
    if isinstance(given, Mapping):
        out: list[Any] = [None] * n_columns
        for key, value in given.items():
            for i in find_positions([key], names, n_columns, what, labels):
                out[i] = value
        return out
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{what} must have an entry for each column of X, or be {{column: entry}}; got {given!r}.")
    values = list(given)
    if len(values) != n_columns:
        raise ValueError(f"{what} must have one entry for each of the {n_columns} columns of X, got {len(values)}.")
    return values


def group_of_columns(labels: list[Any] | None) -> NDArray[Any] | None:
    """Number the groups (M,); columns with None or NaN are in no group."""
    strange = [label for label in labels or [] if not isinstance(label, Hashable)]
    if strange:
        raise ValueError(
            f"groups must have one label for each column, a word or a number, got {strange[0]!r}; a mapping must be "
            "{column: label}."
        )
    return None if labels is None else group_codes(labels)


def log_odds_of_columns(given: list[Any] | None) -> FloatArray | None:
    """Prior log-odds as numbers (M,), zero where none are given."""
    if given is None:
        return None
    try:
        values = np.array([0.0 if value is None else float(value) for value in given])
    except (TypeError, ValueError):
        raise ValueError(f"prior_log_odds must hold one number for each column, got {given!r}.") from None
    if not (np.abs(values) <= FORCED).all():
        raise ValueError(
            f"prior_log_odds must be finite, between −{FORCED:g} and {FORCED:g}; use always_include to force columns "
            "in."
        )
    return values
