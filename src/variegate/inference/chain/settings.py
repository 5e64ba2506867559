"""When the chains stop, and which hyperparameters they average over."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ChainSettings:
    """When the chains stop, and which hyperparameters are averaged over.

    `tol` is the largest Monte Carlo error of an inclusion probability, `max_laps` the limit, in laps of about 1,000
    steps per chain. Hyperparameters that are not averaged over keep the target's values.

    >>> ChainSettings(tol=0.01).max_laps
    200
    """

    tol: float = 0.03
    max_laps: int = 200
    average_size: bool = True
    average_slab: bool = True

    def __post_init__(self) -> None:
        if not self.tol > 0:  # or nan
            raise ValueError(f"tol must be an error above zero, got {self.tol!r}.")
        if not (isinstance(self.max_laps, int | np.integer) and self.max_laps >= 1):
            raise ValueError(f"max_laps must be a whole number, at least 1, got {self.max_laps!r}.")
