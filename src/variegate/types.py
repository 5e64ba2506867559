"""Array types of the whole package."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
AnyFloatArray: TypeAlias = npt.NDArray[np.floating[Any]]  # float32 or float64, as users have it
