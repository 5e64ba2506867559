"""Survival with a diverse set of features."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..metrics import concordance
from ..predictions import NODE_WEIGHTS, NODES, StepFunction, step_functions
from ..tasks import Survival, as_survival
from ..types import FloatArray
from .documented import documented
from .selector import DiverseSelector


@documented
class DiverseSurvival(DiverseSelector):
    """Cox's proportional hazards on a diverse set of features, with uncertainty over the set.

    Sets of columns are drawn from their posterior under a determinantal point process prior, which favours features
    that predict who has the event earlier and differ from each other. Ties are handled by Efron's method. Risks are
    averaged over sets.

    The outcome is as in scikit-survival: a structured array with a field of booleans (whether the event happened) and
    a field of times; or two columns of times and events. `variegate.tasks.survival_rows(time, event, entry, strata)`
    makes one with left truncation or strata.

    {parameters}

    {attributes}
    coef_ : (M,)
        Posterior means of the log hazard ratios, in the units of X, averaged over sets.
    intercept_ : float
        Chosen so that the average row has risk 0: predict(X) = X @ coef_ + intercept_.
    map_coef_, map_intercept_ : the same given the chosen set
    unique_times_ : (K,)
        Times of events.

    Examples
    --------
    >>> import numpy as np
    >>> from variegate.tasks import survival_rows
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 10))
    >>> died = rng.exponential(np.exp(X[:, 3] - X[:, 7]))  # column 3 makes it later, column 7 earlier
    >>> last_seen = rng.exponential(3.0, size=150)
    >>> y = survival_rows(np.minimum(died, last_seen), died <= last_seen)
    >>> model = DiverseSurvival(random_state=0).fit(X, y)
    >>> np.flatnonzero(model.support_)
    array([3, 7])
    """

    _task = Survival()
    _as_outcome = staticmethod(as_survival)

    @property
    def unique_times_(self) -> FloatArray:
        """Times of events (K,)."""
        check_is_fitted(self)
        y = self.selection_.training.y
        return np.unique(y["time"][y["event"]])

    def predict(self, X: Any) -> FloatArray:
        """Return the risk of new rows (n,), the log hazard ratio to the average row: higher means earlier."""
        (law,) = self._laws(X)
        return law.mean

    def predict_interval(self, X: Any, level: float = 0.95) -> FloatArray:
        """Return central credible intervals of the risk of new rows, shape (n, 2)."""
        (law,) = self._laws(X)
        return law.interval(level)

    def predict_survival_function(self, X: Any, return_array: bool = False, stratum: int = 0) -> Any:
        """Return P(no event until t) for new rows, averaged over sets and coefficients, with Breslow's baseline.

        Returns an array (n,) of functions of t; with `return_array` the values (n, K) at `unique_times_`. `stratum` is
        the position of a stratum among the sorted labels.
        """
        survival = self._survival(X, stratum)
        return survival if return_array else step_functions(self.unique_times_, survival, before=1.0)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False, stratum: int = 0) -> Any:
        """Return −log of the survival function of new rows; otherwise as `predict_survival_function`."""
        hazard = -np.log(self._survival(X, stratum))
        return hazard if return_array else step_functions(self.unique_times_, hazard, before=0.0)

    def _survival(self, X: Any, stratum: int) -> FloatArray:
        """Return the values (n, K) of the survival functions at `unique_times_`."""
        (law,) = self._laws(X)
        times = self.unique_times_
        survival = np.zeros((law.means.shape[1], len(times)))
        (outcome,) = self.selection_.outcomes
        for component, mean, scale in zip(outcome.components, law.latent_means, law.latent_scales, strict=True):
            hazard = _baseline(component, times, stratum)
            for node, share in zip(NODES, NODE_WEIGHTS, strict=True):
                survival += component.weight * share * np.exp(-np.outer(np.exp(mean + node * scale), hazard))
        return np.clip(survival, 1e-300, 1.0)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return Harrell's concordance index of the risks; `sample_weight` is ignored."""
        rows = as_survival(y)
        return concordance(rows["time"], rows["event"], self.predict(X))


def _baseline(component: Any, times: FloatArray, stratum: int) -> FloatArray:
    """Return the cumulative hazard of the average row at some times (K,)."""
    known, total = component.likelihood.event_times, component.likelihood.baseline(component.S)
    here = known[0] == stratum
    if not here.any():
        there = np.unique(known[0]).astype(int).tolist()
        raise ValueError(f"stratum must be one in which an event happened, {there}, got {stratum!r}.")
    return StepFunction(known[1, here], total[here])(times)
