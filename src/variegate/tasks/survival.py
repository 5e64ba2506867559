"""Times until an event, some of them censored."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import metrics
from ..checks import WrongOutcome, check_rows
from ..likelihoods import OUT, Cox, CoxTerms, QuadraticLikelihood, Terms, check_times, checked_times
from ..types import SURVIVAL, FloatArray
from .numbers import numbers
from .protocol import RIDGE
from .strengths import gains_alone

HAPPENED = {"1", "1.0", "true", "t", "yes", "y", "dead", "died", "deceased", "death", "event", "failed", "relapsed"}
CENSORED = {"0", "0.0", "false", "f", "no", "n", "alive", "living", "censored", "none", "no event", "event-free"}


@dataclass(frozen=True)
class Survival:
    """A time until an event to predict: whose event comes earlier.

    >>> y = survival_rows([5.0, 3.0, 8.0], ["dead", "alive", "dead"])
    >>> Survival().strata(y)
    array([ True, False,  True])
    """

    name: ClassVar[str] = "survival"
    accuracy: ClassVar[str] = "concordance"
    question: ClassVar[str] = "how soon the event comes"
    effect: ClassVar[str] = "the log hazard (more is earlier)"

    def likelihoods(self, X: Any, y: NDArray[Any], **options: Any) -> list[QuadraticLikelihood]:
        """Proportional hazards."""
        return [Cox(X, y["time"], y["event"], **_further(y), **options)]

    def terms(self, y: NDArray[Any], weights: FloatArray | None = None) -> list[Terms]:
        """The partial likelihood."""
        checked_times(y["time"], y["event"], len(y), np.ones(len(y)))
        return [CoxTerms.of(y["time"], y["event"], **_further(y), weights=weights)]

    def strengths(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> FloatArray:
        """Evidence of each column alone."""
        return gains_alone(self.likelihoods(X, y, sample_weight=sample_weight)[0])

    def strata(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether the event happened."""
        return np.asarray(y["event"])

    def score(self, y: NDArray[Any], predicted: FloatArray) -> float:
        """Harrell's concordance index."""
        return metrics.concordance(y["time"], y["event"], predicted)

    def scores(self, X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], y_test: NDArray[Any]) -> dict[str, float]:
        """Scores of proportional hazards with a weak ridge."""
        (model,) = self.likelihoods(X, y, slab_precision=RIDGE)
        risk = model.predictive(np.arange(X.shape[1]), X_test).latent_mean
        return {"concordance": metrics.concordance(y_test["time"], y_test["event"], risk)}


def _further(y: NDArray[Any]) -> dict[str, Any]:
    """Entries and strata, if there are any."""
    entry, stratum = y["entry"], y["stratum"]
    return {"entry": entry if np.isfinite(entry).any() else None, "strata": stratum if stratum.any() else None}


def survival_rows(time: Any, event: Any, entry: Any = None, strata: Any = None, happened: Any = None) -> NDArray[Any]:
    """Times and events as one array (N,) with the fields event, time, entry and stratum.

    `event` holds booleans, 0/1, or words such as "dead" and "alive"; for other values, `happened` is the one that
    means an event.

    >>> survival_rows([5, 3], [1, 0])["time"]
    array([5., 3.])
    """
    t = _finite(time, "time")
    for what, given in (("event", event), ("entry", entry), ("strata", strata)):
        if given is not None and len(np.ravel(given)) != len(t):
            raise ValueError(f"{what} must have an entry for each of the {len(t)} times, got {len(np.ravel(given))}.")
    rows = np.zeros(len(t), dtype=SURVIVAL)
    rows["time"], rows["event"] = t, events(event, happened)
    rows["entry"] = -np.inf if entry is None else _finite(entry, "entry")
    if strata is not None:
        rows["stratum"] = np.unique(np.asarray(strata).astype(str), return_inverse=True)[1]
    check_times(rows["time"], None if entry is None else rows["entry"])
    return rows


def as_survival(y: Any) -> NDArray[Any]:
    """A survival outcome as users give it: a structured array, or two columns, one of them the times.

    As in scikit-survival, the structured array has a field of booleans, the event, and a field of times.

    >>> as_survival(np.array([(True, 5.0), (False, 3.0)], dtype=[("e", "?"), ("t", "f8")]))["time"]
    array([5., 3.])
    """
    if isinstance(y, np.ndarray) and y.dtype == SURVIVAL:
        return y
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        kinds = {name: y.dtype[name].kind for name in y.dtype.names}
        flags, times = [n for n, k in kinds.items() if k == "b"], [n for n, k in kinds.items() if k in "fiu"]
        if len(kinds) == 2 and len(flags) == len(times) == 1:
            return survival_rows(y[times[0]], y[flags[0]])
        raise ValueError(
            "A structured y must have two fields, booleans that say whether the event happened and times, got "
            f"{y.dtype}; survival_rows(time, event) makes one."
        )
    frame = pd.DataFrame(y)
    if frame.shape[1] != 2:
        raise ValueError(
            f"y must have two columns, a time and whether the event happened, got {frame.shape[1]}; "
            "survival_rows(time, event) makes one."
        )
    flags = [j for j in range(2) if _is_flag(frame.iloc[:, j])]
    if len(flags) != 1:
        raise ValueError(
            "One of the two columns of y must be times, the other whether the event happened (booleans, 0/1, or words "
            f"such as dead and alive), got {'both' if flags else 'neither'} of that kind; "
            "survival_rows(time, event) says which is which."
        )
    return survival_rows(frame.iloc[:, 1 - flags[0]], frame.iloc[:, flags[0]])


def events(values: Any, happened: Any = None) -> NDArray[np.bool_]:
    """Whether the event happened (N,), from booleans, 0/1, or words.

    >>> events(["dead", "alive"]).tolist(), events(["relapse", "none"], "relapse").tolist()
    ([True, False], [True, False])
    """
    given = pd.Series(np.asarray(values).ravel()) if not isinstance(values, pd.Series) else values
    missing = given.isna().to_numpy()
    check_rows(~missing, "event", "be known", lambda i: "nothing", OUT)
    words = given.map(_word)
    known = sorted(set(words))
    if happened is not None:
        if _word(happened) not in known:
            raise WrongOutcome("event", f"never is {happened!r}; it holds {', '.join(known[:5])}")
        return np.asarray(words == _word(happened))
    strange = [word for word in known if word not in HAPPENED | CENSORED]
    if strange:
        hint = " (R's code is 1 for censored, 2 for an event)" if known == ["1", "2"] else ""
        must = (
            f"must be 0/1, true/false or words such as dead and alive, got {', '.join(known[:5])}{hint}; "
            "say which value means that it happened (on the command line --event COLUMN=VALUE)"
        )
        raise WrongOutcome("event", must)
    return np.asarray(words.isin(HAPPENED))


def _word(value: Any) -> str:
    """A value in the form that is compared: whole numbers without a decimal point, words in lower case."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip().lower()


def _is_flag(column: pd.Series) -> bool:
    return set(column.dropna().map(_word)) <= HAPPENED | CENSORED


def _finite(values: Any, what: str) -> FloatArray:
    found = numbers(values, what)
    check_rows(np.isfinite(found), what, "be finite", found.item, OUT)
    return found
