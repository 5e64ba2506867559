"""How strongly each column alone relates to an outcome."""

from typing import Any

import numpy as np

from ..types import FloatArray


def gains_alone(likelihood: Any) -> FloatArray:
    """The evidence for each column alone (M,), relative to the weakest, which has 0; −1 for constant columns. O(NM).

    >>> from variegate.likelihoods import Poisson
    >>> X = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [2.0, 1.0, 5.0], [3.0, 0.0, 5.0]])
    >>> gains_alone(Poisson(X, np.array([1, 3, 9, 30]))).argsort()
    array([2, 1, 0])
    """
    gains = likelihood.flip_gains(np.arange(0)).gains
    varies = likelihood.varying
    return np.where(varies, gains - gains.min(), -1.0)
