"""Warm starts: the sites of recently solved sets."""

from typing import Any

import numpy as np

from ..types import FloatArray, IntArray

CAPACITY, FEWEST = 64, 4  # most and fewest sets
MOST_BYTES = 1 << 25  # with many rows, fewer sets are kept


class RecentSites:
    """Ring of the last solved sets with their sites; the nearest (fewest flips away) starts the next solve.

    It changes how long EP takes, not where it ends (up to its tolerance). Pickling drops it.
    """

    def __init__(self, n_features: int, cold: FloatArray) -> None:
        self._n_features, self._cold = n_features, cold
        self._capacity = min(CAPACITY, max(FEWEST, MOST_BYTES // max(cold.nbytes, 1)))
        self._reset()

    def nearest(self, S: IntArray) -> FloatArray:
        """Return sites (2, N) to start from."""
        if not self._count:
            return self._cold
        used = min(self._count, self._capacity)
        flips = self._sizes[:used] - 2 * np.count_nonzero(self._members[:used, S], axis=1)  # + |S|
        out: FloatArray = self._sites[int(np.argmin(flips))]
        return out

    def add(self, S: IntArray, sites: FloatArray) -> None:
        """Replace the oldest sites by those of S."""
        slot = self._count % self._capacity
        self._members[slot] = False
        self._members[slot, S] = True
        self._sizes[slot], self._sites[slot] = len(S), sites
        self._count += 1

    def _reset(self) -> None:
        self._members = np.zeros((self._capacity, self._n_features), dtype=bool)
        self._sizes = np.zeros(self._capacity, dtype=np.int64)
        self._sites = np.empty((self._capacity, *self._cold.shape))
        self._count = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"_n_features": self._n_features, "_cold": self._cold, "_capacity": self._capacity}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()
