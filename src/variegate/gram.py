"""A cache of rows of a Gram matrix."""

from collections.abc import Callable
from threading import RLock
from typing import Any

import numpy as np

from .types import FloatArray, IntArray


class GramRows:
    """Bounded cache of rows, one per feature: G_m = X̃ᵀx̃_m, or x̃_m itself. The least recently used are evicted first.

    Sampled sets share features, so a row is computed once and read many times. Rows are in one buffer, so gathering
    the rows of a set is a single copy. Threads may share the cache. Pickling drops the rows.
    """

    def __init__(
        self, compute: Callable[[IntArray], FloatArray], n_features: int, max_bytes: int, width: int | None = None
    ) -> None:
        self._compute, self._n_features = compute, n_features
        width = n_features if width is None else width
        self._shape = (min(n_features, max(max_bytes // (8 * max(width, 1)), 1)), width)
        self._reset()

    def rows(self, S: IntArray) -> FloatArray:
        """Return a fresh (|S|, M) array."""
        with self._lock:
            if self.prefetch(S):
                self._clock += 1
                slots = self._slot_of[S]
                self._last_use[slots] = self._clock
                out: FloatArray = self._buffer[slots]
                return out
        return self._compute(S)

    def block(self, S: IntArray) -> FloatArray | None:
        """Return G_SS (|S|, |S|) if all its rows are in the cache, else None."""
        with self._lock:
            slots = self._slot_of[S]
            if slots.min(initial=0) < 0:
                return None
            out: FloatArray = self._buffer[slots[:, None], S]
            return out

    def prefetch(self, S: IntArray) -> bool:
        """Compute the missing rows of S together (one matrix product); False if S does not fit."""
        if len(S) > len(self._buffer):
            return False
        with self._lock:
            missing = S[self._slot_of[S] < 0]
            if len(missing):
                self._fill(S, missing)
        return True

    def _fill(self, S: IntArray, missing: IntArray) -> None:
        here = self._slot_of[S]
        self._clock += 1
        self._last_use[here[here >= 0]] = self._clock
        slots = np.argsort(self._last_use, kind="stable")[: len(missing)]
        # safe if Ctrl-C interrupts this and the fit continues: a slot may still name an evicted feature, but no
        # feature points at a slot with another row
        evicted = self._feature_in[slots]
        self._slot_of[evicted[(evicted >= 0) & (self._slot_of[evicted] == slots)]] = -1
        self._buffer[slots] = self._compute(missing)
        self._feature_in[slots] = missing
        self._slot_of[missing] = slots
        self._last_use[slots] = self._clock

    def _reset(self) -> None:
        capacity, width = self._shape
        self._lock = RLock()
        self._buffer = np.empty((capacity, width))  # pages are allocated when they are written
        self._slot_of = np.full(self._n_features, -1)
        self._feature_in = np.full(capacity, -1)
        self._last_use = np.zeros(capacity, dtype=np.int64)
        self._clock = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"_compute": self._compute, "_shape": self._shape, "_n_features": self._n_features}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()
