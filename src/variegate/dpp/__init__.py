"""The distribution over sets: a low-rank determinantal point process and its mean-field twin."""

from .distribution import SetDistribution
from .independent import IndependentSets
from .low_rank import LowRankDPP

__all__ = ["IndependentSets", "LowRankDPP", "SetDistribution"]
