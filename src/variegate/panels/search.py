"""The search for a panel: forward selection, removals and exchanges."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..dpp import Volume
from ..types import FloatArray, IntArray
from .remainder import Best, Remainder

IMPROVEMENT = 1e-9  # nats by which an exchange must raise the value
MOST_EXCHANGES = 100  # more than ten are rare
EXACT = 1e-9  # of Σw: the ridge that stands for none, so that copies of a column do no harm
RIDGES = 10.0 ** -np.arange(1, 9)  # of Σw, the first that all columns together can live with
ROUNDING = 1e-9  # share of the budget by which sums of prices may exceed it
CHEAP = 1e-9  # lower prices count as this, so that gains for their cost stay finite
RELATED = 500  # columns that stand for all of them in that question


@dataclass(frozen=True, eq=False)
class Search:
    """Maximises J(S) = −loss(left(S)) + β log ν(S) over sets of the `included` and of `open` features."""

    remainder: Remainder
    loss: Callable[[FloatArray], FloatArray]  # nats (…,) from what is left of the targets (…, R)
    volume: Volume | None
    diversity: float  # β
    ridge: float  # ρ
    open: NDArray[np.bool_]  # (U,)
    included: IntArray
    _path: list[IntArray] = field(default_factory=list, init=False, repr=False)  # as far as it was needed

    def best(self, S: IntArray) -> Best:
        """The best rule on S, with the ridge."""
        return self.remainder.best(S, self.ridge)

    def value(self, S: IntArray) -> float:
        """J(S)."""
        return float(-self.loss(self.remainder.left(S, self.ridge))) + self._spread(S)

    def choose(self, size: int, starts: Iterable[IntArray] = ()) -> IntArray:
        """The best set of a size that exchanges reach from the forward path and from other starts, shrunk to it.

        Smaller if no more features can be added.
        """
        *_, grown = self.path(size)
        some = [grown, *(self.shrunk(S, size) for S in starts if self.allows(S))]
        different = {S.tobytes(): S for S in some if len(S) == len(grown)}
        return max(map(self.improved, different.values()), key=self.value)

    def allows(self, S: IntArray) -> bool:
        """Whether a panel may be S."""
        possible = self.open.copy()
        possible[self.included] = True
        return bool(possible[S].all() and np.isin(self.included, S).all() and self._spread(S) > -np.inf)

    @property
    def most(self) -> int:
        """The number of features that a panel may have."""
        found = int(self.open.sum()) + len(self.included)
        return found if self._repels is None else min(found, self._repels.rows.rank())

    def path(self, size: int) -> Iterator[IntArray]:
        """Yield sets up to a size, from those included, each the one before with the best further feature."""
        known = self._path or [self.included]
        for S in self._grown(known[-1], size, self._additions):
            if len(S) > len(known[-1]):
                known.append(S)
        object.__setattr__(self, "_path", known)
        return iter(known[: max(size - len(self.included), 0) + 1])

    def nested(self, S: IntArray, size: int) -> Iterator[IntArray]:
        """Yield sets up to a size, each the one before with one more feature, of which S is one."""
        smaller = [S]
        while len(smaller[-1]) > len(self.included):
            smaller.append(self.shrunk(smaller[-1], len(smaller[-1]) - 1))
        yield from smaller[:0:-1]
        yield from self._grown(S, size, self._additions)

    def affordable(self, size: int, costs: FloatArray, budget: float) -> IntArray:
        """The best set up to a size with costs (U,) within a budget that exchanges and additions reach.

        From the best feature for its cost, one by one, and from the best feature: one that costs all of the budget
        may be better than several that are good for their cost.
        """
        limit = budget * (1.0 + ROUNDING)

        def gains(S: IntArray, power: float) -> FloatArray:
            found = self._additions(S)
            worth = (found > 0) & (costs[S].sum() + costs <= limit)
            return np.where(worth, found / np.maximum(costs, CHEAP) ** power, -np.inf)

        def climbed(power: float) -> IntArray:
            S, value = self.included, -np.inf
            while self.value(S) > value + IMPROVEMENT:
                value = self.value(S)
                *_, S = self._grown(S, size, lambda S: gains(S, power))
                S = self.improved(S, costs, limit)
            return S

        return max((climbed(power) for power in (1.0, 0.0)), key=self.value)

    def _grown(self, S: IntArray, size: int, gains_of: Callable[[IntArray], FloatArray]) -> Iterator[IntArray]:
        """Yield S and larger sets, each the one before with the feature of the largest gain, while one is finite."""
        yield S
        while len(S) < size:
            gains = gains_of(S)
            m = int(gains.argmax())
            if gains[m] == -np.inf:
                return
            S = np.sort(np.append(S, m))
            yield S

    def _additions(self, S: IntArray) -> FloatArray:
        """What each feature adds to J (U,), −inf where that is ruled out."""
        best = self.best(S)
        gains = self.loss(best.left) - self.loss(best.with_each())
        if self._repels is not None:
            gains = gains + self.diversity * self._repels.flip_gains(S).gains
        gains = np.where(self.open, gains, -np.inf)
        gains[S] = -np.inf
        return np.asarray(gains)

    def shrunk(self, S: IntArray, size: int) -> IntArray:
        """S without the members that J misses least, one by one, until it has a size."""
        while len(S) > max(size, len(self.included)):
            values = -self.loss(self.best(S).without_each())
            if self._repels is not None:
                values = values - self.diversity * self._repels.flip_gains(S).gains[S]
            values[np.isin(S, self.included)] = -np.inf
            S = np.delete(S, int(values.argmax()))
        return S

    def improved(self, S: IntArray, costs: FloatArray | None = None, budget: float = np.inf) -> IntArray:
        """S after the best exchanges that the budget allows, until none raises J."""
        value = self.value(S)
        for _ in range(MOST_EXCHANGES if len(S) > len(self.included) else 0):
            values = self.exchanges(S)
            if costs is not None:
                values[costs[S].sum() - costs[S][:, None] + costs > budget] = -np.inf
            j, m = np.unravel_index(int(values.argmax()), values.shape)
            T = np.sort(np.append(np.delete(S, j), m))
            new = self.value(T) if values[j, m] > value else -np.inf
            if not new > value + IMPROVEMENT:
                break
            S, value = T, new
        return S

    def exchanges(self, S: IntArray) -> FloatArray:
        """J of S with each member replaced by each feature (|S|, U), −inf where that is ruled out. O(|S|UR)."""
        if len(S) == 0:
            return np.empty((0, len(self.open)))
        values = np.array([-self.loss(left) for left in self.best(S).exchanged()])
        if self._repels is not None:
            values += self._spread(S) + self.diversity * self._repels.exchange_gains(S)
        values[:, ~self.open] = values[:, S] = values[np.isin(S, self.included)] = -np.inf
        return values

    def _spread(self, S: IntArray) -> float:
        return 0.0 if self._repels is None else self.diversity * self._repels.log_volume(S)

    @property
    def _repels(self) -> Volume | None:
        return self.volume if self.diversity > 0 else None


def guarding_ridge(remainder: Remainder, tolerance: float) -> float:
    """ρ: a tenth of Σw, or less if with it even all columns together would lose more of η than the tolerance.

    With few rows, a ridge guards against sets that fit the rows at hand; a tenth is the best on small tables of genes.
    In spectra the difference of neighbours is the signal, which such a ridge hides: all 100 wavelengths of tecator
    lose 50 to 80 times what the posterior does not know, those of gasoline .6, genes .002.
    """
    related = np.argsort(
        -np.square(remainder.information).sum(axis=0) / np.maximum(remainder.diagonal, 1e-300), kind="stable"
    )
    some = np.sort(related[:RELATED])
    Z = remainder.design.column_rows(some)
    values, vectors = np.linalg.eigh(remainder.times(Z) @ Z.T)
    explained = np.square(vectors.T @ remainder.information[:, some].T).sum(axis=1)
    spectrum, exact = np.maximum(values, 0.0), EXACT * remainder.weight
    for share in RIDGES:
        rho = share * remainder.weight
        if explained @ (1.0 / (spectrum + exact) - 1.0 / (spectrum + rho)) <= tolerance:
            break
    return float(rho)
