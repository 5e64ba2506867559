"""Array types of the whole package."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
# rows of a survival outcome; without left truncation the entry is −∞, without strata the stratum is 0
SURVIVAL = np.dtype([("event", np.bool_), ("time", np.float64), ("entry", np.float64), ("stratum", np.int64)])
COUNTS = np.dtype([("count", np.float64), ("exposure", np.float64)])
AnyFloatArray: TypeAlias = npt.NDArray[np.floating[Any]]  # float32 or float64, as users have it
