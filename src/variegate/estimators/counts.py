"""Counts with a diverse set of features."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ..checks import is_number
from ..metrics import deviance_explained
from ..tasks import Counts, count_rows
from ..types import FloatArray
from .documented import documented, with_parameters
from .selector import READ, DiverseSelector


@documented
class DiverseCounts(DiverseSelector):
    """Regression of counts on a diverse set of features, with uncertainty over the set.

    y ~ negative binomial with mean μ = exposure · exp(η) and variance μ + αμ². Sets of columns are drawn from their
    posterior, under a determinantal point process as prior. Predictions are averaged over sets.

    Parameters
    ----------
    dispersion : "auto" or float
        α. "auto": averaged over (of counts far above 1/α, its most likely value). 0: Poisson.

    {parameters}

    {attributes}
    coef_, intercept_ : (M,), float
        Posterior means in the units of X, averaged over sets: of the log of the rate.
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

    def __init__(self, *, dispersion: float | str = "auto", **others: Any) -> None:
        super().__init__(**others)
        self.dispersion = dispersion

    @property
    def _task(self) -> Counts:  # type: ignore[override]
        if isinstance(self.dispersion, str) and self.dispersion == "auto":
            return Counts()
        if not (is_number(self.dispersion) and float(self.dispersion) >= 0):
            raise ValueError(f'dispersion must be "auto" or a number from 0 on, got {self.dispersion!r}.')
        return Counts(float(self.dispersion))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> Self:
        """Fit the posterior over sets of columns.

        Parameters
        ----------
        X : (N, M) numbers: array, data frame or scipy.sparse table
        y : (N,) counts
        sample_weight : (N,) frequencies
        exposure : (N,) what counts are proportional to: time under observation, library size; ones unless given

        Returns
        -------
        self
        """
        return super().fit(X, count_rows(y, exposure), sample_weight)

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        return validate_data(self, X, order="C", ensure_min_samples=2, **READ), self._outcome(y)

    def _outcome(self, y: Any) -> NDArray[Any]:
        return count_rows(y)

    def _encoded(self, y: NDArray[Any], weights: FloatArray | None) -> NDArray[Any]:
        return y

    def _exposed(self, X: Any, exposure: Any) -> Any:
        (law,) = self._laws(X)
        if exposure is None:
            return law
        size = count_rows(np.zeros(law.means.shape[1]), np.broadcast_to(exposure, law.means.shape[1]))["exposure"]
        return law.exposed(size)

    def predict(self, X: Any, return_std: bool = False, exposure: Any = None) -> Any:
        """Expected counts of new rows (n,), averaged over sets; with `return_std` also their standard deviation."""
        law = self._exposed(X, exposure)
        return (law.mean, law.std) if return_std else law.mean

    def predict_interval(self, X: Any, level: float = 0.95, exposure: Any = None) -> FloatArray:
        """Central credible interval of the counts of new rows, shape (n, 2)."""
        return np.asarray(self._exposed(X, exposure).interval(level))

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """The share of the Poisson deviance that is explained; `sample_weight` is not used."""
        rows = count_rows(y, exposure)
        return deviance_explained(rows["count"], self.predict(X, exposure=rows["exposure"]), rows["exposure"])


with_parameters(DiverseCounts.__init__, DiverseSelector.__init__)
