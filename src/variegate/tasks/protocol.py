"""The protocol of tasks."""

from typing import Any, Protocol

from numpy.typing import NDArray

from ..likelihoods import QuadraticLikelihood, Terms
from ..types import FloatArray

RIDGE = 0.01  # precision of coefficients of standardised columns: keeps them finite if a column separates classes


class Task(Protocol):
    """A kind of outcome. `y` (N,) is encoded: numbers, class codes 0, …, K − 1, or rows with fields.

    >>> from variegate.tasks import task_named
    >>> task: Task = task_named("survival")
    >>> task.accuracy
    'concordance'
    """

    @property
    def name(self) -> str:
        """The name that users give."""
        ...

    @property
    def accuracy(self) -> str:
        """The main score; higher is better."""
        ...

    @property
    def question(self) -> str:
        """The question, in words, for the page."""
        ...

    @property
    def effect(self) -> str:
        """What a coefficient changes, for the page; "{label}" stands for the second of two classes."""
        ...

    def likelihoods(self, X: Any, y: NDArray[Any], **options: Any) -> list[QuadraticLikelihood]:
        """Likelihoods that share one set; X (N, M) or its design."""
        ...

    def terms(self, y: NDArray[Any], weights: FloatArray | None = None) -> list[Terms]:
        """Log-likelihoods of linear predictors: one, or one for each of several classes against the rest."""
        ...

    def strengths(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> FloatArray:
        """How strongly each column alone relates to y (M,): a test statistic, negative for constant columns."""
        ...

    def strata(self, y: NDArray[Any]) -> NDArray[Any] | None:
        """Labels (N,) by which training and test rows are stratified, if any."""
        ...

    def score(self, y: NDArray[Any], predicted: FloatArray) -> float:
        """The accuracy of predictions: numbers, probabilities of the classes (n, K), risks, or rates of counts."""
        ...

    def scores(self, X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], y_test: NDArray[Any]) -> dict[str, float]:
        """Scores on test rows of a model of these columns alone, fitted on the training rows."""
        ...
