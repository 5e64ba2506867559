"""A panel: the features to measure, the rule that they serve, what they lose, and what could stand in for each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..candidates import Candidates
from ..checks import is_whole
from ..design import Design
from ..naming import column_labels
from ..threads import one_blas_thread
from ..types import FloatArray, IntArray
from .reference import Reference
from .remainder import Remainder
from .rule import Outcome, Rule, fitted_rule
from .search import EXACT, Search

ENOUGH = 0.3  # of the reference's own uncertainty: finds 20 of 20 blocks (.26; 19 features .32), nothing on noise
REMAINDER = 0.05  # of what the reference explains: where its uncertainty is large (colon), it would allow any loss
NOTHING = 0.5  # nats over all rows: what posteriors predict of noise is worth up to .2, and of weak signals above 1
LONGEST = 60  # features; the suggested size is at most this
FAMILY = 200  # exchanges that are compared draw by draw
DIVERSITIES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, eq=False)
class Panels:
    """The panels that could stand for a model's predictions, and the search for the best of them."""

    search: Search
    reference: Reference
    candidates: Candidates
    labels: NDArray[Any]  # (U,) of the features
    names: NDArray[Any] | None  # (M,) of the columns of X
    covariates: Design  # the columns that are always measured
    outcome: Outcome
    likely: IntArray  # features with which a model would begin, the likeliest first

    @one_blas_thread
    def choose(self, size: int | None = None) -> "Panel":
        """The best panel of a size, or of the smallest size that is enough."""
        if size is None:
            return Panel(self, self._enough())
        self._check(size)
        return Panel(self, self.best(size))

    def _enough(self) -> IntArray:
        """The best set of the smallest size that is enough: sizes are doubled until one is, and then bisected.

        If none is, for instance because features are excluded, that of the smallest size beside which the largest
        would gain little.
        """
        if self.reference.uncertainty is None:
            raise ValueError("size must be given if the reference has no draws, which say how much a panel may lose.")
        short, S, step = len(self.search.included) - 1, self.search.included, 1
        most = min(LONGEST, self.search.most)
        while not self.is_enough(S) and len(S) < most:
            short, S, step = len(S), self.best(min(len(S) + step, most)), 2 * step
        largest = None
        if not self.is_enough(S):
            short, largest = len(self.search.included) - 1, S
        while len(S) > short + 1:
            T = self.best((short + len(S)) // 2)
            if self.is_enough(T, largest):
                S = T
            else:
                short = len(T)
        return S

    def _check(self, size: int) -> None:
        least, most = max(len(self.search.included), 1), self.search.most
        if most == 0:
            raise ValueError("exclude must leave a feature to choose from, got all of them.")
        if not (is_whole(size) and least <= size <= most):
            raise ValueError(
                f"size must be a whole number from {least} to {most}, got {size!r}: features in include count, "
                "and those in exclude, and copies or combinations of others, do not."
            )

    def best(self, size: int) -> IntArray:
        """The best set that exchanges reach from the forward path, from a longer one, and from likely features."""
        volume, likely = self.search.volume, self.likely[: 2 * size]
        first = likely if volume is None else volume.independent(likely, 2 * size)
        *_, longer = self.search.path(2 * size)
        return self.search.choose(size, [longer, np.union1d(first, self.search.included)])

    @one_blas_thread
    def affordable(self, costs: FloatArray, budget: float) -> "Panel":
        """The best panel whose features (U,) cost at most the budget; those included cost nothing more."""
        prices = np.where(np.isin(np.arange(len(costs)), self.search.included), 0.0, costs)
        return Panel(self, self.search.affordable(LONGEST, prices, budget))

    def is_enough(self, S: IntArray, largest: IntArray | None = None) -> bool:
        """Whether S loses little of what the model does not know itself, and of what it explains.

        Predictions that are worth next to nothing may be lost altogether: then no member is needed. What the `largest`
        possible set loses does not count, less what as many random columns would repeat by chance.
        """
        K, N = self.reference.eta.shape
        left = self.left(S)
        if largest is not None:
            chance = max(N - len(S), 1) / max(N - len(largest), 1)
            left = np.maximum(left - chance * self.left(largest), 0.0)
        left[K:] = 0.0  # of η itself
        lost, unknown = float(left.sum()), self.reference.uncertainty or 0.0
        nothing = float(self.reference.loss(left)) <= NOTHING
        return nothing or (
            lost <= ENOUGH * unknown and lost <= REMAINDER * float(self.search.remainder.total[:K].sum())
        )

    def left(self, S: IntArray) -> FloatArray:
        """What the best rule leaves of each target (R,); without a ridge, which is for the search only."""
        return self.search.remainder.left(S, EXACT * self.search.remainder.weight)

    def lost(self, S: IntArray) -> float:
        """The share of what the model explains that no rule on S does."""
        K = len(self.reference.eta)
        total = float(self.search.remainder.total[:K].sum())
        return float(self.left(S)[:K].sum()) / total if total > 0 else 0.0

    def of_uncertainty(self, S: IntArray) -> float:
        """What is lost as a multiple of what the model itself does not know; NaN if it has no draws."""
        unknown = self.reference.uncertainty
        return (
            np.nan if unknown is None else float(self.left(S)[: len(self.reference.eta)].sum() / max(unknown, 1e-300))
        )

    def log_volume(self, S: IntArray) -> float:
        """Diversity: log det of the similarities of the members, 0 if they have nothing in common."""
        return np.nan if self.search.volume is None else self.search.volume.log_volume(S)

    @cached_property
    def _draws(self) -> Remainder | None:
        """The same columns with the draws as targets (D K, N)."""
        draws = self.reference.draws
        return None if draws is None else replace(self.search.remainder, targets=draws.reshape(-1, draws.shape[-1]))

    def lost_by_draw(self, S: IntArray) -> FloatArray:
        """The share of what each draw explains that no rule on S does (D,); empty if there are no draws."""
        remainder, K = self._draws, len(self.reference.eta)
        if remainder is None:
            return np.empty(0)
        left = self.search.remainder.left(S, EXACT * remainder.weight, remainder).reshape(-1, K).sum(axis=1)
        return np.asarray(left / np.maximum(remainder.total.reshape(-1, K).sum(axis=1), 1e-300))

    @one_blas_thread
    def curve(self, sizes: Sequence[int], through: IntArray | None = None) -> pd.DataFrame:
        """What sets of each size lose, with 90 % limits under the posterior; each is the one before and one more.

        One of them is `through`. `of_uncertainty` is what is lost in multiples of what the model itself does not know,
        `enough` whether a panel need not be larger.
        """
        search, most = self.search, max(sizes)
        paths = {len(S): S for S in (search.path(most) if through is None else search.nested(through, most))}
        return pd.DataFrame([{"size": k, **self.summary(paths[k])} for k in sizes if k in paths])

    def each_best(self, sizes: Iterable[int], diversities: Iterable[float]) -> Iterator[tuple[float, int, IntArray]]:
        """Yield the best set of each size under each weight of diversity, (β, size, S), where there is one."""
        searches = [replace(self.search, diversity=beta) for beta in diversities]
        for k in sizes:
            found = [replace(self, search=search).best(k) for search in searches]
            for search in searches:  # one may stop short of a set that another found
                possible = [S for S in found if len(S) == k and search.allows(S)]
                if possible:
                    yield search.diversity, k, search.improved(max(possible, key=search.value))

    @one_blas_thread
    def frontier(self, sizes: Sequence[int], diversities: Sequence[float] = DIVERSITIES) -> pd.DataFrame:
        """What the best panel of each size loses under each weight of diversity, and how diverse it is."""
        return pd.DataFrame(
            [{"diversity": beta, "size": k, **self.summary(S)} for beta, k, S in self.each_best(sizes, diversities)]
        )

    def summary(self, S: IntArray) -> dict[str, Any]:
        """What a set loses, with 90 % limits under the posterior, whether it is enough, and its diversity."""
        by_draw = self.lost_by_draw(S)
        low, high = np.quantile(by_draw, [0.05, 0.95]) if len(by_draw) else (np.nan, np.nan)
        return {
            "loss": float(self.reference.loss(self.left(S))), "lost": self.lost(S), "lost_low": low, "lost_high": high,
            "of_uncertainty": self.of_uncertainty(S), "enough": self.is_enough(S), "log_det": self.log_volume(S),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """A set of features to measure instead of all, chosen so that the best rule on it repeats a model's predictions.

    >>> import variegate as vg
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> panel = vg.panel(X, X[:, 1] + 0.5 * X[:, 3], size=2)
    >>> panel.columns.tolist(), round(panel.lost, 3), panel.predict([[1.0, 2.0]]).round(3)
    ([1, 3], 0.0, array([2.]))
    >>> panel
    Panel(members=['x1', 'x3'], lost=0.0%)
    """

    among: Panels
    features: IntArray  # sorted positions among the features to choose from

    def __repr__(self) -> str:
        """The members and what is lost, not the data behind them."""
        return f"Panel(members={self.members}, lost={self.lost:.1%})"

    @property
    def members(self) -> list[str]:
        """Names of the features."""
        return [str(name) for name in self.among.labels[self.features]]

    @property
    def columns(self) -> IntArray:
        """Sorted columns of X that the rule needs: those of the members, and those always included."""
        return self.rule.columns

    @property
    def loss(self) -> float:
        """Expected loss of the best rule on the panel beyond that of the model, in nats over all rows."""
        return float(self.among.reference.loss(self.among.left(self.features)))

    @property
    def lost(self) -> float:
        """The share of what the model explains that no rule on the panel does."""
        return self.among.lost(self.features)

    @property
    def log_volume(self) -> float:
        """Diversity: log det of the similarities of the members, 0 if they have nothing in common."""
        return self.among.log_volume(self.features)

    # --- the rule ---------------------------------------------------------------------------------------------

    @cached_property
    def rule(self) -> Rule:
        """The linear predictor in the panel's columns that repeats the model's predictions."""
        given, candidates = self.among, self.among.candidates
        C = given.search.remainder.units.columns_of(self.features)
        columns = np.concatenate([candidates.columns[C], candidates.always])
        return fitted_rule(
            given.reference, given.search.remainder.design, C, given.covariates, given.outcome, columns,
            candidates.n_columns, given.names,
        )  # fmt: skip

    def predict(self, X: Any, exposure: Any = None) -> NDArray[Any]:
        """Predictions by the rule (n,): E[y], the most probable class, expected counts, or the log hazard ratio.

        X has the panel's columns, in the order of `columns`, or all columns of the fit. (n, K) for several outcomes.
        Counts are those of one unit of exposure unless another is given, one number or (n,).
        """
        classes = self.among.outcome.classes
        if classes is not None:
            return np.asarray(classes[self.rule.probabilities(X).argmax(axis=1)])
        means = self.rule.means(X, exposure)
        return means[:, 0] if means.shape[1] == 1 else means

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes (n, K) by the rule."""
        if self.among.outcome.link != "logit":
            raise AttributeError("predict_proba is for classes; use predict.")
        return self.rule.probabilities(X)

    def predict_interval(self, X: Any, level: float = 0.95, exposure: Any = None) -> FloatArray:
        """Central intervals (n, 2) of y, a probability, or the log hazard ratio; (n, K, 2) for several outcomes."""
        if self.among.reference.draws is None:
            raise ValueError("Intervals need a reference with draws, such as the posterior of an estimator.")
        found = [law.interval(level) for law in self.rule.laws(X, exposure)]
        return found[0] if len(found) == 1 else np.stack(found, axis=1)

    def predict_survival_function(self, X: Any, stratum: int = 0) -> NDArray[Any]:
        """P(no event until t) of new rows: functions of t (n,)."""
        if self.among.outcome.link != "hazard":
            raise AttributeError("predict_survival_function is for survival times; use predict.")
        return self.rule.survival(X, stratum)

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """The rule: a row for the intercept and each column, with 95 % limits; for several classes, a row for each."""
        rule, classes = self.rule, self.among.outcome.classes
        names = ["intercept", *column_labels(self.among.names, rule.n_columns)[rule.columns]]
        mean = np.column_stack([rule.intercept, rule.coef])
        drawn = np.concatenate([rule.drawn_intercepts[:, :, None], rule.drawn_coefs], axis=2)
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0) if len(drawn) else np.full((2, *mean.shape), np.nan)
        several = len(mean) > 1
        labels = (classes if classes is not None else np.arange(len(mean))) if several else [None]
        rows = [
            {**({"outcome": label} if several else {}), "column": name, "coefficient": m, "low": a, "high": b}
            for label, *values in zip(labels, mean, low, high, strict=True)
            for name, m, a, b in zip(names, *values, strict=True)
        ]
        return pd.DataFrame(rows)

    # --- how many, and what else ------------------------------------------------------------------------------

    @cached_property
    def curve(self) -> pd.DataFrame:
        """What smaller and larger panels lose, which are parts of this one or contain it; see `Panels.curve`."""
        sizes = range(len(self.among.search.included), max(2 * len(self.features), 10) + 1)
        return self.among.curve(sizes, self.features)

    @one_blas_thread
    def stand_ins(self, n: int = 3) -> pd.DataFrame:
        """For each member, the share lost without it and with the best replacements, best first.

        `lost_without` and `lost_with` are increases of `lost`. A member has a row without a stand-in if nothing can
        take its place, or if it is measured already.
        """
        if not (is_whole(n) and n > 0):
            raise ValueError(f"n must be a whole number above zero, got {n!r}.")
        rows = [row for j in range(len(self.features)) for row in self._replacements(j, n)]
        return pd.DataFrame(rows, columns=["member", "lost_without", "stand_in", "lost_with", "log_det"])

    def _replacements(self, j: int, n: int) -> Iterator[dict[str, Any]]:
        S, given, values = self.features, self.among, self._exchanged[j]
        rest = np.delete(S, j)
        member = {"member": str(given.labels[S[j]]), "lost_without": given.lost(rest) - self.lost}
        ranked = np.argsort(-values, kind="stable")[:n]
        possible = ranked[np.isfinite(values[ranked])]
        if not len(possible):
            yield {**member, "stand_in": None, "lost_with": np.nan, "log_det": np.nan}
        for m in possible:
            T = np.sort(np.append(rest, m))
            stand_in, with_it = str(given.labels[m]), given.lost(T) - self.lost
            yield {**member, "stand_in": stand_in, "lost_with": with_it, "log_det": given.log_volume(T)}

    @cached_property
    def _exchanged(self) -> FloatArray:
        return self.among.search.exchanges(self.features)

    @one_blas_thread
    def family(self, level: float = 0.05) -> "list[Panel]":
        """The panel, and those one exchange away that predict as well with at least this posterior probability.

        Another panel predicts as well in a draw from the posterior if it loses no more of that draw. Only the
        200 exchanges with the largest value are compared. Without draws, there is only the panel itself.
        """
        values, own = self._exchanged, self.among.lost_by_draw(self.features)
        found = [self]
        for place in np.argsort(-values, axis=None, kind="stable")[:FAMILY] if len(own) else ():
            j, m = np.unravel_index(int(place), values.shape)
            T = np.sort(np.append(np.delete(self.features, j), m))
            if values[j, m] > -np.inf and np.mean(self.among.lost_by_draw(T) <= own) >= level:
                found.append(Panel(self.among, T))
        return found
