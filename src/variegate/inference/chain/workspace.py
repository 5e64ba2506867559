"""The features that can move in a stretch, as arrays for the compiled loop."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...likelihoods import Form
from ...sets import membership
from ...types import FloatArray, IntArray
from .model import Model
from .problem import Problem, State
from .system import DIAGONAL, INFORMATION


@dataclass(eq=False)
class Workspace:
    """n features with C columns: what does not depend on the auxiliary variables, and workspace."""

    model: Model
    features: IntArray  # (n,) sorted
    movable: npt.NDArray[np.bool_]  # (n,)
    first: IntArray  # (n + 1,) first columns
    columns: FloatArray  # Z (C, N)
    units: FloatArray  # (n, d), or (n, 0) if the prior has no ν
    tilt: FloatArray  # (n,)
    gram: FloatArray
    known: npt.NDArray[np.bool_]
    vectors: FloatArray
    tables: FloatArray
    forms: list[Form] = field(default_factory=list)
    given: Any = None  # the auxiliary variables that the forms are conditional on

    @classmethod
    def of(
        cls, model: Model, S: IntArray, inside: npt.NDArray[np.bool_], scope: FloatArray | None = None
    ) -> "Workspace":
        """The features in scope, `inside` (M,), drawn with probabilities `scope` (M,); they include S."""
        target, shared = model.target, model.shared
        movable = inside & model.free
        here = movable | membership([S], len(movable))[0] if shared is None else np.ones(len(movable), dtype=bool)
        features = np.flatnonzero(here)
        widths = target.widths[features]
        n, C, has_volume = len(features), int(widths.sum()), target.prior_has_volume
        K = len(target.outcomes) + has_volume
        gram, known, _ = shared or (np.empty((K, C, C)), np.zeros((K, C), dtype=bool), None)
        local = cls(
            model=model,
            features=features,
            movable=movable[features],
            first=np.concatenate([[0], np.cumsum(widths)]),
            columns=target.standardised(features) if shared is None else np.empty((C, 0)),
            units=target.volume.units(features) if has_volume else np.empty((n, 0)),
            tilt=model.tilt[features] - (0.0 if scope is None else np.log(scope[features])),
            gram=gram,
            known=known,
            vectors=np.zeros((K, 5, C)),
            tables=np.empty((K, 3, C, C)),
        )
        if has_volume:
            local.vectors[-1, DIAGONAL, :n] = 1.0
        return local

    def problem(self, S: IntArray, auxiliary: Any) -> Problem:
        """The posterior given the auxiliary variables, with the Gram rows that a stretch from S needs at its start."""
        if not self.forms or self.given is not auxiliary:
            self._write_forms(auxiliary)
        needed, target = self._needed(S), self.model.target
        for k, form in enumerate(self.forms):
            new = needed[~self.known[k, needed]]
            self.gram[k, new] = form.rows(self.columns, new)  # in one product
            self.known[k, new] = True
        return Problem(
            gram=self.gram,
            known=self.known,
            vectors=self.vectors,
            tables=self.tables,
            members=np.empty(self.known.shape, dtype=np.int64),
            columns=self.columns,
            units=self.units,
            precision=np.stack([form.precision for form in self.forms]),
            fixed=_stacked([form.fixed for form in self.forms]),
            first=self.first,
            tilt=self.tilt,
            noise=np.array([form.noise for form in self.forms]),
            movable=self.movable,
            nugget=target.volume.nugget if target.prior_has_volume else 0.0,
            power=target.diversity,
        )

    def _write_forms(self, auxiliary: Any) -> None:
        shared = self.model.shared
        self.given = auxiliary
        self.forms = self.model.forms(self.features, self.columns, auxiliary) if shared is None else shared.forms
        for k, form in enumerate(self.forms):
            self.vectors[k, DIAGONAL], self.vectors[k, INFORMATION] = form.diagonal, form.information
        if shared is None:
            self.known[: len(self.forms)] = False

    def _needed(self, S: IntArray) -> IntArray:
        """The columns of members of S and of features with several."""
        wanted = np.diff(self.first) > 1
        wanted[np.searchsorted(self.features, S)] = True
        return np.flatnonzero(np.repeat(wanted, np.diff(self.first)))

    def state(self, S: IntArray) -> State:
        """The set S as the kernel's state."""
        n, members = len(self.features), np.searchsorted(self.features, S)
        order, place = np.empty(n, dtype=np.int64), np.full(n, -1)
        order[: len(members)] = members
        place[members] = np.arange(len(members))
        return State(order, place, np.array([len(members)]), np.empty(n), np.empty(n))

    def members(self, state: State) -> IntArray:
        """The set of the kernel's state."""
        return np.sort(self.features[state.order[: state.size[0]]])


def _stacked(fixed: list[FloatArray]) -> FloatArray:
    """Arrays (p_k, C) stacked to (K, p, C), padded with rows of zeros."""
    out = np.zeros((len(fixed), max(map(len, fixed)), fixed[0].shape[1]))
    for row, part in zip(out, fixed, strict=True):
        row[: len(part)] = part
    return out
