"""The setup of a comparison: data, methods, and how each repeat is split, prepared and scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from .. import __version__, metrics
from ..baselines import Problem
from ..candidates import choose_candidates
from ..design import Design
from ..screening import strongest
from ..sets import as_index_set
from ..side_information import similarity_features
from ..similarity import from_columns
from ..tasks import Task, task_named
from ..types import IntArray
from .identity import described
from .inputs import Data


class Part(NamedTuple):
    """One split as the methods see it: `problem` holds the training rows of the columns `kept` (m,)."""

    train: IntArray
    test: IntArray
    kept: IntArray
    problem: Problem
    judged: NDArray[Any] | None  # similarity features (m, d) for log det; None: a kernel, or the columns' correlations


@dataclass(frozen=True)
class Study:
    """What all repeats share; sent once to every worker."""

    data: Data
    methods: Mapping[str, Any]
    reference: str
    size: int | None
    similarity: Any
    kernel: Any
    points: Any
    communities: Any
    screen: Any
    test_size: float
    seed: int
    folds: int | None = None  # number of folds, if the test parts are folds rather than random rows
    marks: Mapping[str, str] = field(default_factory=dict)  # of methods, to tell them apart in a store

    @property
    def task(self) -> Task:
        """The task of the outcome."""
        return task_named(self.data.task)

    def call(self) -> dict[str, Any]:
        """Return what identifies a store; without repeats and other methods, so that both can be added."""
        given = ("similarity", "kernel", "points", "communities", "screen")
        return {
            "kind": "compare", "variegate": __version__, "task": self.data.task, "X": described(self.data.X, "X"),
            "y": described(self.data.y, "y"), "columns": described(self.data.names, "columns"),
            "reference": described(self.methods.get(self.reference), self.reference) if self.size is None else None,
            **{name: described(getattr(self, name), name) for name in given},
            **{name: getattr(self, name) for name in ("size", "test_size", "seed")},
        }  # fmt: skip

    def sequence(self, repeat: int, *key: int) -> np.random.SeedSequence:
        """Return the seed of a repeat, or of something in it, as `spawn` would, without drawing the others."""
        return np.random.SeedSequence(self.seed, spawn_key=(repeat, *key))

    def split(self, repeat: int) -> tuple[IntArray, IntArray]:
        """Return the rows of the training and of the test part, with classes in the same shares in both."""
        strata = self.task.strata(self.data.y)
        if self.folds is not None:
            return self._fold(repeat, strata)
        seed = int(self.sequence(repeat).generate_state(1)[0])
        splitter = ShuffleSplit if strata is None else StratifiedShuffleSplit
        ((train, test),) = splitter(1, test_size=self.test_size, random_state=seed).split(self.data.X, strata)
        return np.sort(train), np.sort(test)

    def _fold(self, number: int, strata: NDArray[Any] | None) -> tuple[IntArray, IntArray]:
        splitter = KFold if strata is None else StratifiedKFold
        seed = int(np.random.SeedSequence(self.seed).generate_state(1)[0])
        folds = splitter(self.folds, shuffle=True, random_state=seed).split(self.data.X, strata)
        return next(islice(folds, number, None))  # type: ignore[no-any-return]

    def part(self, repeat: int) -> Part:
        """Split, screen, and compute the similarity; the last two use the training rows only."""
        return self.prepared(*self.split(repeat))

    def prepared(self, train: IntArray, test: IntArray) -> Part:
        """Screen and compute the similarity on some training rows."""
        X, y = self.data.X[train], self.data.y[train]
        kept = self._screened(X, y)
        chosen = X if len(kept) == X.shape[1] else np.ascontiguousarray(X[:, kept])
        phi = self.features(self.similarity, chosen, kept)
        judged = None if self._has_blocks else self.features(self.kernel, chosen, kept)
        if judged is None and not isinstance(self.similarity, str):
            judged = phi
        return Part(train, test, kept, Problem(chosen, y, self.data.task, phi), judged)

    @property
    def _has_blocks(self) -> bool:
        return hasattr(self.kernel, "block")

    def _screened(self, X: NDArray[Any], y: NDArray[Any]) -> IntArray:
        if callable(self.screen):
            return as_index_set(self.screen(X, y), X.shape[1], "The answer of screen")
        if self.screen is None or self.screen >= X.shape[1]:
            return np.arange(X.shape[1])
        return strongest(self.task.strengths(X, y), self.screen)

    def features(self, given: Any, X: NDArray[Any], kept: IntArray) -> NDArray[Any] | None:
        """Return similarity features of the columns kept (m, d); X (n, m) holds those columns."""
        if given is None:
            return None
        mask = np.zeros(self.data.X.shape[1], dtype=bool)
        mask[kept] = True
        candidates = choose_candidates(len(mask), np.empty(0, dtype=np.int64), None, mask)
        weights = np.ones(len(X))
        return similarity_features(given, Design.of(X, weights), weights, candidates, self.data.names)

    def scores(self, part: Part, S: IntArray) -> dict[str, float]:
        """Score a set of positions among the columns kept."""
        problem, columns = part.problem, part.kept[S]
        X_test, y_test = self.data.X[np.ix_(part.test, columns)], self.data.y[part.test]
        # in double precision, so that probabilities add up to one
        found = self.task.scores(problem.X[:, S].astype(np.float64), problem.y, X_test.astype(np.float64), y_test)
        if self._has_blocks:
            found["log det"] = metrics.log_det(self.kernel, columns)
        elif part.judged is None:
            found["log det"] = metrics.log_det(from_columns(problem.X[:, S]), np.arange(len(S)))
        else:
            found["log det"] = metrics.log_det(part.judged, S)
        largest, mean = metrics.redundancy(problem.X, S)
        found |= {"largest |r|": float(largest), "mean |r|": float(mean)}
        if self.points is not None:
            found["distance"] = float(metrics.mean_pairwise_distance(self.points, columns))
        if self.communities is not None:
            found["communities"] = float(metrics.communities_hit(self.communities, columns))
        return found
