"""The posterior on some columns of a table, certified by a pass over all others."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import is_number
from ..inference import CHAINS, JOINS, Certificate, ConvergenceWarning, OthersRatio
from ..selection import Selection
from ..threads import one_blas_thread
from ..types import IntArray
from .screened import ROOM, ROUNDS, Screen, in_new_places, joining, start
from .search import Search


@one_blas_thread
def certified(search: Search, screen: Screen, references: IntArray) -> Selection:
    """Sample the posterior on the strongest columns, and on those that turn out to matter in addition."""
    varying, rng, settings = screen.varying, search.generator(), search.settings()
    kept, tilt = _first_columns(search, screen), search.tilt_outside()
    candidates = search.candidates(varying, kept, references)
    search.warn_of_constants(varying)
    passes, joined, ratio, starts, quick = 1, 0, OthersRatio(), None, True
    while True:
        training, left_out = screen.training(candidates), int(screen.left_out(candidates).sum())
        target = search.target(candidates, training, left_out, ratio)
        found = search.run(target, rng, starts, quick)
        odds, ratio = screen.outside(candidates, target, found, settings, tilt)
        passes += left_out > 0
        more = joining(odds, max(start(len(screen.y)), len(candidates.columns)))
        if found.interrupted or (not quick and (passes > ROUNDS or not more.any())):
            break
        quick = quick and bool(more.any()) and passes < ROUNDS  # rough sets suffice to find most of them
        before, kept, joined = candidates, kept | more, joined + int(more.sum())
        candidates = search.candidates(varying, kept, references)
        starts = in_new_places(found.sets, before, candidates, CHAINS)
    p = 1.0 - 1.0 / (1.0 + odds)  # 1 for infinite odds
    largest, imputed = float(p.max(initial=0.0)), int(screen.moments.missing.sum())
    certificate = Certificate(left_out, passes, joined, largest, float(p.sum()), imputed)
    _warn_of_columns_left_out(certificate)
    return replace(search.selection(candidates, training, found), certificate=certificate)


def _first_columns(search: Search, screen: Screen) -> NDArray[np.bool_]:
    """Return the columns (M,) to start with."""
    asked = search.asked
    wanted: list[Any] = [n for n in (asked.expected_size, asked.n_features_to_select) if is_number(n)]
    first = start(len(screen.y)) if asked.screen is None else int(asked.screen)
    return screen.first(max(first, *(int(ROOM * n) for n in wanted), 1), search.always, search.groups)


def _warn_of_columns_left_out(certificate: Certificate) -> None:
    if certificate.largest > JOINS:
        warnings.warn(
            f"Some of the {certificate.left_out:,} columns that were left out could have a probability "
            f"of up to {certificate.largest:.2g}; start with more columns (screen).",
            ConvergenceWarning,
            stacklevel=6,
        )
