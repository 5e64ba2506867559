"""The distribution over sets: a low-rank determinantal point process and its mean-field twin."""

from .distribution import SetDistribution
from .independent import IndependentSets
from .low_rank import LowRankDPP

# for the type checker: both meet the Protocol
_MEMBERS: tuple[type[SetDistribution], ...] = (IndependentSets, LowRankDPP)

__all__ = ["IndependentSets", "LowRankDPP", "SetDistribution"]
