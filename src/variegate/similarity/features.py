"""The result of every `from_…` function: Φ, an array with names and a trace error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class SimilarityWarning(UserWarning):
    """A warning about a similarity that can still be used.

    >>> issubclass(SimilarityWarning, UserWarning)
    True
    """


class SimilarityFeatures(np.ndarray[Any, Any]):
    """Similarity features Φ, shape (M, d), with unit rows: features i and j have similarity (ΦΦᵀ)_ij.

    A numpy array with two attributes: the names of the features, so that an estimator can check them against its
    columns, and the trace error of the factor. Copies keep both; slices and products do not.

    Parameters
    ----------
    features : (M, d) array
    names : names of the M features, or None
    trace_error : tr(K − FFᵀ) / tr K of the low-rank factor F before its rows were rescaled; 0 if exact

    >>> phi = SimilarityFeatures(np.eye(2), names=["a", "b"])
    >>> phi.names, phi.trace_error, phi[:1].names
    (('a', 'b'), 0.0, None)
    """

    names: tuple[str, ...] | None
    trace_error: float

    def __new__(
        cls, features: npt.ArrayLike, names: Sequence[object] | None = None, trace_error: float = 0.0
    ) -> SimilarityFeatures:
        """Return the array as Φ, without a copy."""
        phi = np.asarray(features).view(cls)
        if names is not None and len(names) != len(phi):
            raise ValueError(f"names must have {len(phi)} entries, one per row of Φ, got {len(names)}")
        phi.names = None if names is None else tuple(map(str, names))
        phi.trace_error = trace_error
        return phi

    def __array_finalize__(self, parent: Any) -> None:
        self.names = None
        self.trace_error = float("nan")

    def __reduce__(self) -> tuple[Any, ...]:
        return SimilarityFeatures, (np.asarray(self), self.names, self.trace_error)

    def __copy__(self) -> SimilarityFeatures:
        return SimilarityFeatures(np.array(self), self.names, self.trace_error)

    def __deepcopy__(self, memo: Any) -> SimilarityFeatures:
        return self.__copy__()

    def named(self, names: Sequence[object] | None) -> SimilarityFeatures:
        """Return the same Φ with these names."""
        return SimilarityFeatures(np.asarray(self), names, self.trace_error)

    def copy(self, order: Any = "C") -> SimilarityFeatures:
        """Return a copy that keeps names and trace error."""
        return SimilarityFeatures(np.array(self, order=order), self.names, self.trace_error)


def unit_rows(F: Array) -> Array:
    """Scale the rows to unit norm; a zero row stays zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", F, F, dtype=np.float64))
    scaled: Array = F / np.where(norms > 0, norms, 1.0)[:, None].astype(F.dtype)
    return scaled
