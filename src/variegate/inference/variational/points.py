"""The state of a stage: θ and the trace of the ELBO."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from ...types import FloatArray
from ..progress import Progress
from . import tuning


class Point(NamedTuple):
    """The state of a stage. A stage is an iterator of points, one per iteration; the last one is its result."""

    theta: FloatArray  # (M,)
    inclusion: FloatArray  # (M,)
    elbo: FloatArray  # trace, one estimate per iteration
    elbo_error: FloatArray  # Monte Carlo standard errors of the trace
    converged: bool = False
    stage: str = ""
    expected_size: float = np.nan
    at: FloatArray | None = None  # (M,) the last iterate, of which θ is an average

    @classmethod
    def of(cls, path: Sequence[FloatArray], inclusion: FloatArray, trace: Sequence[tuple[float, float]]) -> Self:
        """The average of a path, with estimates of the ELBO and their errors."""
        elbo, error = np.array(trace).T
        return cls(np.mean(path, axis=0), inclusion, elbo, error, at=path[-1])

    def progress(self) -> Progress:
        """The argument of the callback."""
        # estimates from single draws have no known error and are too noisy to report one by one
        elbo = float(self.elbo[-1]) if np.isfinite(self.elbo_error[-1]) else self.level
        return Progress(self.stage, len(self.elbo), elbo, self.expected_size, self.at)

    @property
    def _last(self) -> int:
        n = len(self.elbo)
        return min(max(tuning.LAST_ESTIMATES, n // 3), n)

    @property
    def level(self) -> float:
        """ELBO at the end of the stage: the average of the last estimates."""
        return float(self.elbo[-self._last :].mean())

    @property
    def error(self) -> float:
        """Standard error of `level`."""
        return float(np.sqrt(np.square(self.elbo_error[-self._last :]).sum()) / self._last)

    def after(self, first: "Point | None") -> Self:
        """The same point, with the trace of the stage before it."""
        if first is None:
            return self
        return self._replace(
            elbo=np.concatenate([first.elbo, self.elbo]),
            elbo_error=np.concatenate([first.elbo_error, self.elbo_error]),
        )


def distinct(points: Sequence[Point]) -> list[Point]:
    """Drop points whose inclusion probabilities agree with those of an earlier point."""
    kept: list[Point] = []
    for point in points:
        if all(np.abs(point.inclusion - other.inclusion).max() > tuning.SAME_PLACE for other in kept):
            kept.append(point)
    return kept
