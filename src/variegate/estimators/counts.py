"""Counts with a diverse set of features."""

from typing import Any, Self

import numpy as np

from ..checks import is_number
from ..metrics import deviance_explained
from ..tasks import Counts, count_rows
from ..types import FloatArray
from .documented import documented, with_parameters
from .selector import DiverseSelector


@documented
class DiverseCounts(DiverseSelector):
    """Regression of counts on a diverse set of features, with uncertainty over the set.

    y ~ negative binomial with mean μ = exposure · exp(η) and variance μ + αμ². Sets of columns are drawn from their
    posterior under a determinantal point process prior. Predictions are averaged over sets.

    Parameters
    ----------
    dispersion : "auto" or float
        α. "auto": averaged over (for counts far above 1/α, the most likely value). 0: Poisson.

    {parameters}

    {attributes}
    coef_, intercept_ : (M,), float
        Posterior means for the log of the rate, in the units of X, averaged over sets.
    map_coef_, map_intercept_ : the same given the chosen set

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 10))
    >>> hours = rng.uniform(1, 5, size=150)
    >>> y = rng.poisson(hours * np.exp(0.5 * X[:, 3] - 0.5 * X[:, 7]))
    >>> model = DiverseCounts(random_state=0).fit(X, y, exposure=hours)
    >>> np.flatnonzero(model.support_)
    array([3, 7])
    """

    _as_outcome = staticmethod(count_rows)

    def __init__(self, *, dispersion: float | str = "auto", **others: Any) -> None:
        super().__init__(**others)
        self.dispersion = dispersion

    @property
    def _task(self) -> Counts:  # type: ignore[override]
        if isinstance(self.dispersion, str) and self.dispersion == "auto":
            return Counts()
        if not (is_number(self.dispersion) and float(self.dispersion) >= 0):
            raise ValueError(f'dispersion must be "auto" or a non-negative number, got {self.dispersion!r}.')
        return Counts(float(self.dispersion))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> Self:
        """Fit the posterior over sets of columns.

        Parameters
        ----------
        X : (N, M) numbers: array, data frame or scipy.sparse table
        y : (N,) counts
        sample_weight : (N,) frequencies
        exposure : (N,) what counts are proportional to, such as time under observation or library size; default ones

        Returns
        -------
        self
        """
        return super().fit(X, count_rows(y, exposure), sample_weight)

    def _exposed(self, X: Any, exposure: Any) -> Any:
        (law,) = self._laws(X)
        if exposure is None:
            return law
        size = count_rows(np.zeros(law.means.shape[1]), np.broadcast_to(exposure, law.means.shape[1]))["exposure"]
        return law.exposed(size)

    def predict(self, X: Any, return_std: bool = False, exposure: Any = None) -> Any:
        """Return expected counts of new rows (n,), averaged over sets; with `return_std` also standard deviations."""
        law = self._exposed(X, exposure)
        return (law.mean, law.std) if return_std else law.mean

    def predict_interval(self, X: Any, level: float = 0.95, exposure: Any = None) -> FloatArray:
        """Return central credible intervals of the counts of new rows, shape (n, 2)."""
        return np.asarray(self._exposed(X, exposure).interval(level))

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """Return the share of the Poisson deviance that is explained; `sample_weight` is ignored."""
        rows = count_rows(y, exposure)
        return deviance_explained(rows["count"], self.predict(X, exposure=rows["exposure"]), rows["exposure"])


with_parameters(DiverseCounts.__init__, DiverseSelector.__init__)
