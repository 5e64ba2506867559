"""What to measure: a diverse set of features whose best rule repeats the predictions of a model."""

from .averaged import Weighted as Weighted
from .averaged import posterior_reference as posterior_reference
from .choose import check_diversity as check_diversity
from .choose import no_covariates as no_covariates
from .choose import panel
from .choose import prepared as prepared
from .chosen import Panel
from .chosen import Panels as Panels
from .reference import Reference as Reference
from .rule import Outcome as Outcome

__all__ = ["Panel", "panel"]
