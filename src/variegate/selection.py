"""What a fit found: the columns, the training rows, the posterior and the chosen set, as one value."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .candidates import ALWAYS, Candidates, by_column
from .design import Design
from .groups import Group
from .inference import Certificate
from .likelihoods import Coefficients, Predictive, covariate_table
from .naming import column_labels
from .panels import Outcome as PredictedOutcome
from .panels import (
    Panel,
    Panels,
    Reference,
    Weighted,
    check_diversity,
    no_covariates,
    posterior_reference,
    prepared,
)
from .posterior import Posterior
from .predictions import Component
from .sets import NOTHING
from .tasks import task_named
from .types import FloatArray, IntArray


class Training(NamedTuple):
    """The rows of a fit as the likelihoods see them."""

    design: Design  # of the m columns to select from
    covariates: Any  # (N, p) columns that are always included, or None
    y: NDArray[Any]  # (N,) numbers, or positions in the classes
    weights: FloatArray | None

    @property
    def X(self) -> Any:
        """The columns to select from (N, m)."""
        return self.design.X

    @property
    def row_weights(self) -> FloatArray:
        """Weights (N,), ones if none were given."""
        return np.ones(len(self.y)) if self.weights is None else self.weights


@dataclass(frozen=True, eq=False)
class Outcome:
    """The sets over which predictions of an outcome are averaged, and its class if there are several."""

    components: list[Component]
    label: Any = None

    @cached_property
    def coefficients(self) -> list[Coefficients]:
        """Coefficients given each set, in the order of `components`."""
        return [component.likelihood.coefficients(component.S) for component in self.components]


@dataclass(frozen=True, eq=False)
class Selection:
    """What a fit found; an estimator has it as `selection_`, and tables, reports and files are made from it.

    Features of the posterior are columns of X or groups of them; `candidates` translates.

    >>> import variegate as vg
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> found = vg.DiverseRegressor(random_state=0).fit(X, X[:, 0] + 2 * X[:, 2]).selection_
    >>> found.chosen, found.column_names[found.support].tolist()
    (array([0, 2]), ['x0', 'x2'])
    """

    candidates: Candidates
    training: Training
    posterior: Posterior
    chosen: IntArray = field(default_factory=lambda: NOTHING)  # features of the posterior
    names: NDArray[Any] | None = None  # (M,) of the columns, if they have any
    classes: NDArray[Any] | None = None  # (K,)
    task: str = "regression"
    size: int | None = None  # the requested size of the set
    certificate: Certificate | None = None  # about columns that were left out, if there was screening
    choose: str = "prediction"  # what the set was chosen for: "prediction" or "probability"
    average: bool = True  # whether predictions are averaged over sets, or come from the chosen one

    @property
    def column_names(self) -> NDArray[Any]:
        """Names of the columns of X (M,): x0, x1, … if it had none."""
        return column_labels(self.names, self.candidates.n_columns)

    @property
    def support(self) -> NDArray[np.bool_]:
        """Columns (M,) of the chosen set, with those always included."""
        return self.candidates.mask(self.chosen)

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Inclusion probability of every column (M,)."""
        return self.candidates.spread(self.posterior.inclusion_prob(), always=1.0)

    @property
    def inclusion_errors(self) -> FloatArray:
        """Monte Carlo error of each probability (M,)."""
        return self.candidates.spread(self.posterior.inclusion_errors())

    @cached_property
    def groups(self) -> list[Group]:
        """Groups of features that can replace each other, with the members that were chosen."""
        return self.posterior.groups(chosen=self.chosen)

    @property
    def class_counts(self) -> dict[str, int]:
        """Rows of each class; empty for regression."""
        if self.classes is None:
            return {}
        counts = np.bincount(self.training.y, minlength=len(self.classes))
        return {str(label): int(n) for label, n in zip(self.classes, counts, strict=True)}

    @property
    def _chosen_alone(self) -> list[list[Component]]:
        """The chosen set, with the geometric mean of the slab precision, for each outcome."""
        target = self.posterior.target
        return [[Component(target.columns(self.chosen), 1.0, outcome)] for outcome in target.outcomes]

    @property
    def used(self) -> NDArray[np.bool_]:
        """Columns (M,) that are in at least one of the sets over which predictions are averaged."""
        found = self.candidates.mask(NOTHING)
        for component in self.outcomes[0].components:
            found |= self.candidates.mask(np.unique(self.candidates.unit[component.S]))
        return found

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """One for a number or two classes, one for each of several classes."""
        averaged = self.average or not len(self.chosen)
        return self._outcomes(self.posterior.components if averaged else self._chosen_alone)

    def _outcomes(self, components: list[list[Component]]) -> list[Outcome]:
        labels = [None] if len(components) == 1 or self.classes is None else self.classes.tolist()
        return [Outcome(part, label) for part, label in zip(components, labels, strict=True)]

    def columns_of(self, component: Component) -> IntArray:
        """Columns of X of a component's set, in the order of its coefficients."""
        return self.candidates.columns[component.S]

    def coefficients(self, *, averaged: bool) -> tuple[FloatArray, FloatArray]:
        """Intercepts (K,) and coefficients (K, M) in the units of X: means over sets, or given the chosen one."""
        outcomes = self.outcomes if averaged else self._outcomes(self._chosen_alone)
        intercept, coef = np.zeros(len(outcomes)), np.zeros((len(outcomes), self.candidates.n_columns))
        for k, outcome in enumerate(outcomes):
            for component, found in zip(outcome.components, outcome.coefficients, strict=True):
                intercept[k] += component.weight * found.intercept
                coef[k, self.columns_of(component)] += component.weight * found.mean
                coef[k, self.candidates.always] += component.weight * found.covariates
        return intercept, coef

    @cached_property
    def reference(self) -> Reference:
        """The posterior's predictions for the training rows, which a panel is to repeat; with draws from seed 0."""
        data = self.training
        outcomes = [
            [
                Weighted(one.S, one.weight, found, self._law_at_mean(one))
                for one, found in zip(outcome.components, outcome.coefficients, strict=True)
            ]
            for outcome in self._outcomes(self.posterior.components)
        ]
        terms = task_named(self.task).terms(data.y, data.row_weights)
        return posterior_reference(outcomes, terms, data.design, self._covariates, np.random.default_rng(0))

    def _law_at_mean(self, one: Component) -> Predictive:
        """The predictive law of a row with all columns at their means."""
        C = self._covariates.centre[None]
        law: Predictive = one.likelihood.predictive(one.S, self.training.design.centre[None], C if C.size else None)
        return law

    @cached_property
    def _covariates(self) -> Design:
        C, weights = self.training.covariates, self.training.row_weights
        return no_covariates(weights) if C is None else Design.of(covariate_table(C, len(weights)), weights)

    def panels(self, include: Any = (), exclude: Any = (), diversity: float | None = None) -> Panels:
        """The panels that have some features (measured already) and lack others (that cannot be measured)."""
        post, target = self.posterior, self.posterior.target
        beta = target.diversity if diversity is None else diversity
        check_diversity(beta)
        if beta > 0 and target.phi is None:
            raise ValueError(f"diversity must be 0 for a model without similarity, got {diversity!r}.")
        known = post.of_columns(self.candidates, self.column_names)
        likely = np.argsort(-post.inclusion_prob(), kind="stable")
        return prepared(
            self.training.design, self.reference, self.candidates, None if target.phi is None else target.volume, beta,
            self._covariates, post.labels, self.names, self._predicted, likely,
            known.features(include, "include"), known.features(exclude, "exclude", refused=ALWAYS),
        )  # fmt: skip

    @property
    def _predicted(self) -> PredictedOutcome:
        """What the predictor is of."""
        components = self._outcomes(self.posterior.components)[0].components
        likelihood, law = components[0].likelihood, self._law_at_mean(components[0])
        if law.link == "hazard":
            baseline = likelihood.terms.cumulative_hazard
            return PredictedOutcome(law.link, event_times=likelihood.event_times, baseline=baseline)
        dispersion = (
            sum(one.weight * self._law_at_mean(one).dispersion for one in components) if law.link == "log" else 0.0
        )
        return PredictedOutcome(law.link, self.classes, dispersion)

    def panel(self, size: int | None = None, include: Any = (), exclude: Any = ()) -> Panel:
        """The features to measure: of a size, or as few as are enough."""
        return self.panels(include, exclude).choose(size)

    @cached_property
    def chosen_panel(self) -> Panel:
        """The chosen features as a panel, whether they were chosen for prediction or for their probability."""
        return Panel(self.panels(), self.chosen)

    def costs(self, given: Any) -> FloatArray:
        """Costs of the features (U,) from those of columns, each the highest of its columns."""
        values = by_column(given, self.names, self.candidates.n_columns, "costs") or []
        found = np.array([float(v) if isinstance(v, int | float | np.number) and v >= 0 else np.nan for v in values])
        wrong = self.candidates.columns[np.isnan(found[self.candidates.columns])]
        if len(wrong):
            raise ValueError(
                f"costs must hold a number from 0 for each column to choose from, got {values[wrong[0]]!r} for "
                f"{self.column_names[wrong[0]]!r}."
            )
        out = np.zeros(self.candidates.n_units)
        np.maximum.at(out, self.candidates.unit, found[self.candidates.columns])
        return out

    def training_column(self, j: int) -> NDArray[Any]:
        """Training values (N,) of a column of X; empty if it was screened out."""
        candidates, data = self.candidates, self.training
        for columns, X in ((candidates.columns, data.X), (candidates.always, data.covariates)):
            (i,) = np.nonzero(columns == j)
            if len(i):
                return np.asarray(X[:, i].toarray() if hasattr(X, "toarray") else X[:, i]).ravel()
        return np.empty(0)


class Fitted(Protocol):
    """A fitted estimator."""

    selection_: Selection


def selection_of(model: Selection | Fitted) -> Selection:
    """The selection of a fitted estimator, or the selection itself."""
    found = model if isinstance(model, Selection) else getattr(model, "selection_", None)
    if not isinstance(found, Selection):
        raise ValueError(f"the model must be fitted, got {type(model).__name__}; call fit(X, y) first.")
    return found
