"""Distributions over sets: a low-rank determinantal point process and its mean-field counterpart."""

from .distribution import SetDistribution, SetLaw
from .fixed_size import FixedSize, of_size
from .independent import IndependentSets
from .low_rank import LowRankDPP
from .matching import with_inclusion_prob
from .powered import PoweredDPP
from .sizes import SizeLaw, Sums, Trials
from .span import Rows
from .volume import Volume as Volume
from .volume import VolumeGains as VolumeGains

# checked by mypy: these classes satisfy the Protocols
_MEMBERS: tuple[type[SetDistribution], ...] = (IndependentSets, LowRankDPP)
_LAWS: tuple[type[SetLaw], ...] = (*_MEMBERS, FixedSize)

__all__ = [
    "FixedSize",
    "IndependentSets",
    "LowRankDPP",
    "PoweredDPP",
    "Rows",
    "SetDistribution",
    "SetLaw",
    "SizeLaw",
    "Sums",
    "Trials",
    "of_size",
    "with_inclusion_prob",
]
