"""The target as the chain sees it: conditions, hyperparameters, and Gram matrices that all chains share."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from ...likelihoods import Auxiliary, Form, Predictor, QuadraticLikelihood
from ...sets import NOTHING
from ...types import FloatArray, IntArray
from ..target import Target
from .problem import Grid

COLUMN_BYTES = 1 << 26  # limit for the columns, in double precision, that each chain holds


class Position(NamedTuple):
    """The state of a chain: the set, the auxiliary variables of each outcome, and the position on the grid."""

    S: IntArray
    auxiliary: tuple[Any, ...] | None  # None: no outcome has any
    at: tuple[int, int]
    excess: float | None = None  # log evidence minus that of the quadratic form, if that is an approximation

    @property
    def draw(self) -> "Draw":
        """The set with its hyperparameters."""
        given = self.auxiliary or ()
        known = len(given) == 1 and isinstance(given[0], Auxiliary)
        return Draw(self.S, self.at, float(given[0].nuisance) if known else np.nan)


class Draw(NamedTuple):
    """A posterior set with its hyperparameters: a position on the grid, and the likelihood's nuisance parameter."""

    S: IntArray
    at: tuple[int, int]
    nuisance: float = np.nan


class Predictors(NamedTuple):
    """Linear predictors of the outcomes, None for one without auxiliary variables."""

    parts: tuple[Predictor | None, ...]

    def log_densities(self, scales: FloatArray) -> FloatArray:
        """Sum over the outcomes; −inf except at λ = 1 if one has no drawn coefficients to scale."""
        found = [part.log_densities(scales) for part in self.parts if part is not None]
        total: FloatArray = np.sum(found, axis=0)
        return total if len(found) == len(self.parts) else np.where(scales == 1.0, total, -np.inf)

    def auxiliary(self, scale: float, rng: np.random.Generator) -> tuple[Any, ...]:
        """New auxiliary variables of each outcome."""
        return tuple(None if part is None else part.auxiliary(scale, rng) for part in self.parts)


class Complete(NamedTuple):
    """Gram matrices and forms of all features, computed once for all chains."""

    gram: FloatArray
    known: npt.NDArray[np.bool_]
    forms: list[Form]  # without the arrays from which Gram rows are computed


@dataclass(frozen=True, eq=False)
class Model:
    """p(S, hyperparameters, auxiliary variables | y), under conditions."""

    target: Target
    grid: Grid
    included: IntArray = field(default_factory=lambda: NOTHING)
    excluded: IntArray = field(default_factory=lambda: NOTHING)
    shared: Complete | None = None
    evidences: dict[tuple[bytes, int, float | None], float] = field(default_factory=dict)  # of (set, slab, nuisance)

    @property
    def outcomes(self) -> tuple[QuadraticLikelihood, ...]:
        """The target's outcomes."""
        return cast(tuple[QuadraticLikelihood, ...], self.target.outcomes)  # checked by `sample`

    @cached_property
    def augments(self) -> bool:
        """Whether the form is exact given auxiliary variables; if not, the evidence decides which moves to accept."""
        return all(outcome.can_augment for outcome in self.outcomes)

    def at_start(self, S: IntArray, rng: np.random.Generator) -> Position:
        """The first position of a chain."""
        i = len(self.grid.log_kappa) // 3
        at = (i, int(np.argmax(self.grid.log_prior[i])))
        return Position(S, self._auxiliary_at(S, at[1], rng) if self.augments else self.expanded([S], at[1]), at)

    def _auxiliary_at(self, S: IntArray, j: int, rng: np.random.Generator) -> tuple[Any, ...] | None:
        predictor = self.predictor(S, j, None, rng)
        return None if predictor is None else predictor.auxiliary(1.0, rng)

    def predictor(self, S: IntArray, j: int, auxiliary: Any, rng: np.random.Generator) -> Predictors | None:
        """Coefficients drawn given the set, slab precision number j and the auxiliary variables; None without any."""
        columns, c = self.target.in_order(S), self.slab(j)
        found = [outcome.draw_predictor(columns, c, given, rng) for outcome, given in self._given(auxiliary)]
        return None if all(predictor is None for predictor in found) else Predictors(tuple(found))

    def expanded(self, sets: list[IntArray], j: int) -> tuple[Any, ...]:
        """The quadratic forms around the posterior, from some of its sets."""
        columns, c = [self.target.in_order(S) for S in sets], self.slab(j)
        return tuple(outcome.expand(columns, c) for outcome in self.outcomes)

    def _given(self, auxiliary: Any) -> list[tuple[QuadraticLikelihood, Any]]:
        """Each outcome with its auxiliary variables."""
        return list(zip(self.outcomes, auxiliary or [None] * len(self.outcomes), strict=True))

    def forms(self, features: IntArray, Z: FloatArray, auxiliary: Any) -> list[Form]:
        """The form of each outcome over the columns Z of features."""
        columns = self.target.in_order(features)
        return [outcome.quadratic_form(columns, Z, given) for outcome, given in self._given(auxiliary)]

    def gram_rows(self, S: IntArray, auxiliary: Any) -> list[tuple[FloatArray, Form]]:
        """For each outcome the Gram rows of the columns of S, and the form over the columns of all features."""
        columns = self.target.in_order(S)
        found = [outcome.gram_rows(columns, given) for outcome, given in self._given(auxiliary)]
        return [self._by_feature(rows, form) for rows, form in found]

    def _by_feature(self, rows: FloatArray, form: Form) -> tuple[FloatArray, Form]:
        """Gram rows and a form over all columns, with the columns feature by feature."""
        if self.target.units is None:
            return rows, form
        order = self.target.in_order(np.arange(self.target.n_features))
        return rows[:, order], form.take(order)

    def slab(self, j: int) -> float:
        """Slab precision number j."""
        return float(np.exp(self.grid.log_c[j]))

    @cached_property
    def free(self) -> npt.NDArray[np.bool_]:
        """Features (M,) that can be added and removed."""
        free = np.isfinite(self.tilt)
        free[self.included] = free[self.excluded] = False
        return free

    @cached_property
    def tilt(self) -> FloatArray:
        """Log-odds of the prior (M,) for each feature alone; −inf if its prior probability is zero."""
        theta = self.target.prior.theta
        if not self.target.prior_has_volume:
            return theta
        return np.asarray(theta + 2 * self.target.diversity * self.target.volume.log_norms)

    def own(self) -> Self:
        """A copy for one chain: evidences, warm-started from earlier sets, must not depend on other chains."""
        return self if self.augments else replace(self, target=self.target.roughly(False), evidences={})

    @cached_property
    def is_tall(self) -> bool:
        """Whether the columns of all features take so much memory that only their Gram matrices are kept."""
        one = self.outcomes[0].columns_of(np.arange(1)).nbytes
        return bool(one * self.target.widths.sum() > COLUMN_BYTES)

    def complete(self, auxiliary: Any = None) -> Self:
        """The same with all Gram matrices, shared by the chains; all features are always in scope."""
        features = np.arange(self.target.n_features)
        found = self._tall_grams(auxiliary) if self.is_tall else self._grams(auxiliary)
        C = len(found[0][0])
        gram = np.zeros((len(found) + self.target.prior_has_volume, C, C))
        for k, (of_outcome, _) in enumerate(found):
            gram[k] = of_outcome
        if self.target.prior_has_volume:
            units = self.target.volume.units(features)
            gram[-1, : len(units), : len(units)] = units @ units.T
        forms = [_without_rows(form) for _, form in found]
        return replace(self, shared=Complete(gram, np.ones(gram.shape[:2], dtype=bool), forms))

    def _grams(self, auxiliary: Any) -> list[tuple[FloatArray, Form]]:
        features = np.arange(self.target.n_features)
        Z = self.target.standardised(features)
        return [(form.rows(Z, np.arange(len(Z))), form) for form in self.forms(features, Z, auxiliary)]

    def _tall_grams(self, auxiliary: Any) -> list[tuple[FloatArray, Form]]:
        """The same in one pass over the rows."""
        order = self.target.in_order(np.arange(self.target.n_features))
        found = [outcome.gram(given) for outcome, given in self._given(auxiliary)]
        return [self._by_feature(gram if self.target.units is None else gram[order], form) for gram, form in found]

    def independent(self, candidates: IntArray, wanted: int) -> IntArray:
        """The first `wanted` candidates that can be in a set together under the prior, sorted."""
        if not self.target.prior_has_volume:
            return np.sort(candidates[:wanted])
        return self.target.volume.independent(candidates, wanted)

    def possible(self, S: IntArray, rng: np.random.Generator) -> IntArray:
        """S made into a valid start: it meets the conditions, has positive prior probability, and the fixed size."""
        first = np.concatenate([self.included, np.setdiff1d(S, self.included)])
        if self.target.size is None:
            return self.independent(first, len(first))
        others = np.setdiff1d(np.flatnonzero(self.free), first)
        return self.independent(np.concatenate([first, rng.permutation(others)]), self.target.size)


def _without_rows(form: Form) -> Form:
    """The form without the arrays from which its Gram rows are computed."""
    return form._replace(precision=np.empty(0), fixed=np.empty((0, len(form.diagonal))))
