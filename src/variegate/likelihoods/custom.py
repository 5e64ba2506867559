"""Any Python callable as a likelihood."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ..types import FloatArray, IntArray
from . import checks
from .protocol import FlipGains


class CustomLikelihood:
    """A likelihood given by a function of the set: `log_evidence(S) -> float`, S sorted int64 indices.

    Paper: section 3, "more involved models as long as p(y|γ) can be approximated". Values are cached, so the
    function must be deterministic; the `max_remembered` most recently used are kept. If `flip_gains(S) -> (M,)` is
    given too, the object has the methods `flip_gains` and `flip_gains_many`, used by the search for the most probable
    set; otherwise it lacks them.

    >>> fewer_is_better = CustomLikelihood(lambda S: -float(len(S)), n_features=4)
    >>> fewer_is_better.log_evidence(np.array([0, 3]))
    -2.0
    >>> hasattr(fewer_is_better, "flip_gains")
    False
    """

    exact_gains = True
    flip_gains: Callable[[IntArray], FlipGains]
    flip_gains_many: Callable[[Sequence[IntArray]], tuple[FloatArray, FloatArray]]

    def __init__(
        self,
        log_evidence: Callable[[IntArray], Any],
        n_features: int,
        *,
        flip_gains: Callable[[IntArray], Any] | None = None,
        max_remembered: int = 10_000,
    ) -> None:
        if not callable(log_evidence):
            raise TypeError(f"log_evidence must be a function of a set, got {type(log_evidence).__name__}.")
        if int(n_features) < 1:
            raise ValueError(f"n_features must be at least 1, got {n_features}.")
        self.n_features = int(n_features)
        self._function = log_evidence
        self._remembered: OrderedDict[bytes, float] = OrderedDict()
        self._max_remembered = max(int(checks.positive(max_remembered, "max_remembered")), 1)
        if flip_gains is not None:
            self._gains = flip_gains
            self.flip_gains = self._flip_gains
            self.flip_gains_many = self._flip_gains_many

    def log_evidence(self, S: IntArray) -> float:
        """Log p(y | S), computed once for each set."""
        key = np.asarray(S, dtype=np.int64).tobytes()
        if key not in self._remembered:
            self._remembered[key] = _number(self._function(S), S)
            if len(self._remembered) > self._max_remembered:
                self._remembered.popitem(last=False)
        self._remembered.move_to_end(key)
        return self._remembered[key]

    def roughly(self, rough: bool) -> Self:
        """Return itself: the function has one precision."""
        return self

    def _flip_gains(self, S: IntArray) -> FlipGains:
        gains = np.asarray(self._gains(S), dtype=np.float64)
        if gains.shape != (self.n_features,) or not np.isfinite(gains).all():
            raise ValueError(
                f"flip_gains must return {self.n_features} finite numbers, one for each feature; for the set "
                f"{_short(S)} it returned {gains!r}."
            )
        return FlipGains(self.log_evidence(S), gains)

    def _flip_gains_many(self, sets: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        results = [self._flip_gains(S) for S in sets]
        values = np.array([r.log_evidence for r in results])
        return values, np.array([r.gains for r in results]).reshape(len(sets), self.n_features)


def _number(value: Any, S: IntArray) -> float:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(2)
    if array.size != 1 or not np.isfinite(array).all():
        raise ValueError(
            f"log_evidence must return one finite number; for the set {_short(S)} it returned {value!r}. "
            "For an impossible set return a large negative number."
        )
    return float(array.reshape(()))


def _short(S: IntArray) -> str:
    return str([int(m) for m in S[:10]])[:-1] + (", …]" if len(S) > 10 else "]")
