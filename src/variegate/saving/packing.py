"""Convert values to JSON plus arrays, and back; large arrays are stored compactly.

A table with few distinct values is stored as indices into them, which is exact; other tables and Φ in single
precision, unless that would change a column by more than a millionth of its standard deviation.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..similarity import SimilarityFeatures, item_names
from .archive import PLAIN

MANY_VALUES = 1 << 16
LARGE = 1 << 20  # bytes; larger arrays are stored compactly
FAITHFUL = 1e-6  # largest change of a column in single precision, in standard deviations


class Single(NamedTuple):
    """An array that may be stored in single precision."""

    values: Any


class Table(NamedTuple):
    """A table (N, M) that may be stored as indices of its values, or in single precision."""

    values: Any

    def numbered(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return the distinct values and each entry's index among them, or None if there are many."""
        first = self.values.ravel()[:MANY_VALUES]
        if 4 * len(np.unique(first)) > len(first):
            return None
        values, numbers = np.unique(self.values, return_inverse=True)
        if len(values) > MANY_VALUES:
            return None
        return values, numbers.reshape(self.values.shape).astype(np.min_scalar_type(len(values) - 1))

    def is_faithful(self) -> bool:
        """Whether single precision is accurate enough."""
        change = np.abs(self.values.astype(np.float32) - self.values).max(axis=0)
        return bool((change <= FAITHFUL * self.values.std(axis=0)).all())


class Pack:
    """Converts values to JSON; arrays go into `arrays` under the key that the JSON names."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def put(self, value: Any, name: str) -> Any:
        """Return JSON for a value; `name` is for the error message."""
        if isinstance(value, Table | Single):
            return self._put_small(value, name)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return {"float": repr(value)} if isinstance(value, float) and not np.isfinite(value) else value
        if sparse.issparse(value):
            table = sparse.csc_array(value)
            parts = {"data": table.data, "indices": table.indices, "indptr": table.indptr}
            return {"sparse": {k: self.put(v, name) for k, v in parts.items()}, "shape": list(table.shape)}
        if isinstance(value, SimilarityFeatures):
            array = self.put(Single(np.asarray(value)), name)
            return {
                "similarity": array,
                "names": self.put(value.names, name),
                "error": self.put(value.trace_error, name),
            }
        if isinstance(value, np.ndarray) and value.dtype.kind in PLAIN:
            key = f"a{len(self.arrays)}"
            self.arrays[key] = np.ascontiguousarray(value)
            return {"array": key}
        if isinstance(value, Mapping):
            return {"map": [[self.put(k, name), self.put(v, name)] for k, v in value.items()]}
        if isinstance(value, np.ndarray | list | tuple | set):
            kind = "objects" if isinstance(value, np.ndarray) else "list"
            return {kind: [self.put(item, name) for item in value]}
        if hasattr(value, "to_numpy"):
            return self.put(_with_names(value), name)
        raise TypeError(f"{name} must be numbers, text, or arrays of them to be saved, got {type(value).__name__}.")

    def _put_small(self, held: Table | Single, name: str) -> Any:
        value = held.values
        if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.nbytes < LARGE:
            return self.put(value, name)
        numbered = held.numbered() if isinstance(held, Table) else None
        if numbered is not None:
            return {"values": self.put(numbered[0], name), "numbers": self.put(numbered[1], name)}
        if isinstance(held, Table) and not held.is_faithful():
            return self.put(value, name)
        return {"double": self.put(value.astype(np.float32), name)}


def _with_names(frame: Any) -> Any:
    """Convert a data frame or Series to a value that keeps the names of its rows."""
    names, values = item_names(frame), frame.to_numpy()
    if names is None:
        return values
    return SimilarityFeatures(values, names) if values.ndim == 2 else dict(zip(names, values.tolist(), strict=True))


def _looked_up(values: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the table (N, M) of entries of `values`; rejects anything but numbers before it allocates."""
    if values.dtype != np.float64 or values.ndim != 1 or numbers.dtype.kind != "u" or numbers.ndim != 2:
        raise ValueError("values and numbers of a table do not fit each other")
    found: NDArray[Any] = values[numbers]
    return found


def unpacked(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the value of a piece of JSON, with the arrays that it names, which are taken out of `arrays`.

    Each can be named once, and becomes at most eight times larger: what is asked for is bounded by the file's size.
    """

    def get(value: Any) -> Any:
        return unpacked(value, arrays)

    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays.pop(value["array"])
    if "double" in value:
        return get(value["double"]).astype(np.float64)
    if "numbers" in value:
        return _looked_up(get(value["values"]), get(value["numbers"]))
    if "float" in value:
        return float(value["float"])
    if "sparse" in value:
        parts = {k: get(v) for k, v in value["sparse"].items()}
        table = sparse.csc_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(value["shape"]))
        table.check_format(full_check=True)
        return table
    if "similarity" in value:
        return SimilarityFeatures(get(value["similarity"]), get(value["names"]), get(value["error"]))
    if "map" in value:
        return {get(k): get(v) for k, v in value["map"]}
    if "objects" in value:
        out = np.empty(len(value["objects"]), dtype=object)
        out[:] = [get(item) for item in value["objects"]]
        return out
    return [get(item) for item in value["list"]]
