"""The target as the chain sees it: conditions, hyperparameters, and Gram matrices that all chains share."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from ...likelihoods import (
    AugmentedLikelihood,
    Auxiliary,
    ExpandedLikelihood,
    Predictor,
    QuadraticForm,
    QuadraticLikelihood,
)
from ...sets import NOTHING
from ...types import FloatArray, IntArray
from ..target import Target
from .problem import Grid

COLUMN_BYTES = 1 << 26  # limit for the columns, in double precision, that each chain holds


class Position(NamedTuple):
    """The state of a chain: the set, the auxiliary variables of the likelihood, and the position on the grid."""

    S: IntArray
    auxiliary: Any
    at: tuple[int, int]
    excess: float | None = None  # log evidence minus that of the quadratic form, if that is an approximation

    @property
    def draw(self) -> "Draw":
        """The set with its hyperparameters."""
        nuisance = self.auxiliary.nuisance if isinstance(self.auxiliary, Auxiliary) else np.nan
        return Draw(self.S, self.at, float(nuisance))


class Draw(NamedTuple):
    """A posterior set with its hyperparameters: a position on the grid, and the likelihood's nuisance parameter."""

    S: IntArray
    at: tuple[int, int]
    nuisance: float = np.nan


class Complete(NamedTuple):
    """Gram matrices and forms of all features, computed once for all chains."""

    gram: FloatArray
    known: npt.NDArray[np.bool_]
    forms: list[QuadraticForm]  # without the arrays from which Gram rows are computed


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
    def likelihood(self) -> QuadraticLikelihood:
        """The target's likelihood."""
        return cast(QuadraticLikelihood, self.target.likelihood)  # checked by `sample`

    @cached_property
    def augments(self) -> bool:
        """Whether the form is exact given auxiliary variables; if not, the evidence decides which moves to accept."""
        return self.likelihood.can_augment

    def at_start(self, S: IntArray, rng: np.random.Generator) -> Position:
        """The first position of a chain."""
        i = len(self.grid.log_kappa) // 3
        at = (i, int(np.argmax(self.grid.log_prior[i])))
        return Position(S, self._auxiliary_at(S, at[1], rng) if self.augments else self.expanded([S], at[1]), at)

    def _auxiliary_at(self, S: IntArray, j: int, rng: np.random.Generator) -> Any:
        predictor = self.predictor(S, j, None, rng)
        return None if predictor is None else predictor.auxiliary(1.0, rng)

    def predictor(self, S: IntArray, j: int, auxiliary: Any, rng: np.random.Generator) -> Predictor | None:
        """Coefficients drawn given the set, slab precision number j and the auxiliary variables; None without any."""
        return cast(AugmentedLikelihood, self.likelihood).draw_predictor(S, self.slab(j), auxiliary, rng)

    def expanded(self, sets: list[IntArray], j: int) -> Any:
        """The quadratic form around the posterior, from some of its sets."""
        return cast(ExpandedLikelihood, self.likelihood).expand(sets, self.slab(j))

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
        one = self.likelihood.columns_of(np.arange(1)).nbytes
        return bool(one * self.likelihood.widths.sum() > COLUMN_BYTES)

    def complete(self, auxiliary: Any = None) -> Self:
        """The same with all Gram matrices, shared by the chains; all features are always in scope."""
        features = np.arange(self.target.n_features)
        found = self.likelihood.grams(auxiliary) if self.is_tall else self._grams(auxiliary)
        C = len(found[0][0])
        gram = np.zeros((len(found) + self.target.prior_has_volume, C, C))
        for k, (of_outcome, _) in enumerate(found):
            gram[k] = of_outcome
        if self.target.prior_has_volume:
            units = self.target.volume.units(features)
            gram[-1, : len(units), : len(units)] = units @ units.T
        forms = [_without_rows(form) for _, form in found]
        return replace(self, shared=Complete(gram, np.ones(gram.shape[:2], dtype=bool), forms))

    def _grams(self, auxiliary: Any) -> list[tuple[FloatArray, QuadraticForm]]:
        features = np.arange(self.target.n_features)
        Z = self.likelihood.columns_of(features)
        forms = self.likelihood.quadratic_forms(features, Z, auxiliary)
        return [(form.rows(Z, np.arange(len(Z))), form) for form in forms]

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


def _without_rows(form: QuadraticForm) -> QuadraticForm:
    """The form without the arrays from which its Gram rows are computed."""
    return form._replace(precision=np.empty(0), fixed=np.empty((0, len(form.diagonal))))
