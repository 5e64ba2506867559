"""From the target to a posterior, by exact chains."""

from .certificate import JOINS as JOINS
from .certificate import Certificate as Certificate
from .certificate import Drawn as Drawn
from .certificate import certify as certify
from .certificate import fitted_ratio as fitted_ratio
from .certificate import how_many_sets as how_many_sets
from .chain.excerpt import Excerpt as Excerpt
from .chain.excerpt_fit import Draws as Draws
from .chain.excerpt_fit import form_of as form_of
from .chain.excerpt_without import Without as Without
from .chain.excerpt_without import forms_without as forms_without
from .chain.grid import PriorSizes as PriorSizes
from .chain.grid import grid_of as grid_of
from .chain.problem import Grid as Grid
from .chain.sample import CHAINS as CHAINS
from .chain.sample import Hyperparameters, Sample, sample
from .chain.sample import can_sample as can_sample
from .chain.settings import ChainSettings
from .local_search import best_exchanges as best_exchanges
from .local_search import climb as climb
from .local_search import grow as grow
from .local_search import polish as polish
from .local_search import resize as resize
from .progress import ConvergenceWarning, Progress
from .target import OthersRatio as OthersRatio
from .target import Target

__all__ = [
    "ChainSettings",
    "ConvergenceWarning",
    "Hyperparameters",
    "Progress",
    "Sample",
    "Target",
    "sample",
]
