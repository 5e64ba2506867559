"""One repeat: every method on the same split, at the same size."""

import time
import traceback
import warnings
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..baselines import select
from ..estimators import EmptySelectionWarning
from ..types import IntArray
from .runner import Results
from .study import Part, Study


def job_key(study: Study, repeat: int, name: str) -> str:
    """Return the key of a result; another method with the same name has another key."""
    return f"{repeat}/{name}/{study.marks.get(name)}"


def run_repeat(study: Study, repeat: int, names: Sequence[str], size: int | None) -> Results:
    """Run some methods and return their results by job; if `size` is None the reference comes first and sets it.

    Never raises: a failure is recorded and does not affect the others.
    """
    results: Results = {}
    try:
        part = study.part(repeat)
    except Exception:
        return {job_key(study, repeat, name): failure(traceback.format_exc()) for name in names}
    for name in names:
        if size is None and name != study.reference:
            error = f"{study.reference!r}, which sets the size, failed in this repeat."
            results[job_key(study, repeat, name)] = failure(error)
            continue
        result = attempt(study, part, name, repeat, size)
        results[job_key(study, repeat, name)] = result
        if size is None and result["error"] is None:
            size = len(result["positions"])
    return results


def attempt(study: Study, part: Part, name: str, repeat: int, size: int | None) -> dict[str, Any]:
    """Let one method select, and score its set."""
    rng = np.random.default_rng(study.sequence(repeat, zlib.crc32(name.encode())))
    # warnings of a hundred repeats would flood the terminal, so they become part of the result
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            started = time.perf_counter()
            S, own_size = choose(study.methods[name], part, size, rng)
            seconds = time.perf_counter() - started
            scores = study.scores(part, S)
        except Exception:
            return failure(traceback.format_exc())
    said = {f"{w.category.__name__}: {w.message}": None for w in caught if w.category is not EmptySelectionWarning}
    return {
        "positions": part.kept[S].tolist(), "own_size": own_size, "seconds": seconds, "scores": scores,
        "warnings": list(said), "error": None,
    }  # fmt: skip


def choose(method: Any, part: Part, size: int | None, rng: np.random.Generator) -> tuple[IntArray, int | None]:
    """Return the set a method selects, and its own choice of size, if any; an empty set becomes the best feature."""
    problem = part.problem
    if not isinstance(method, str):  # it may write into the table, which must not affect the others
        problem = problem._replace(X=problem.X.copy(), y=problem.y.copy())
    S = select(method, problem, size, rng)
    if size is not None:
        return S, None
    return (S, len(S)) if len(S) else (select(method, problem, 1, rng), 0)


def failure(error: str) -> dict[str, Any]:
    """Return the result of a method that failed."""
    return {"positions": [], "own_size": None, "seconds": np.nan, "scores": {}, "warnings": [], "error": error.strip()}
