"""Check that the values in a file can belong to a model."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inference import Certificate

MOST_SETS = 100_000  # chains keep a few thousand
CANDIDATE, ALWAYS, REFERENCE = 1, 2, 3  # roles of columns; 0 if screened out or constant


def check_consistent(f: Mapping[str, Any]) -> None:
    """Reject values that do not describe a model, or that would take more memory than the file justifies."""
    m, U = int((f["role"] == CANDIDATE).sum()), len(np.unique(f["unit"]))
    sets, sizes, names, classes = f["sets"], f["set_sizes"], f["feature_names"], f["classes"]
    N = len(f["y"])
    if not (sizes.ndim == 1 and 0 < len(sizes) <= MOST_SETS and (sizes >= 0).all() and sizes.sum() == len(sets)):
        raise ValueError("set_sizes does not fit the rest")
    whole = {
        "role": f["role"].ndim == 1 and np.isin(f["role"], [0, CANDIDATE, ALWAYS, REFERENCE]).all(),
        "reference_units": f["reference_units"].shape == ((f["role"] == REFERENCE).sum(),)
        and f["reference_units"].dtype.kind == "i"
        and bool(((f["reference_units"] >= -1) & (f["reference_units"] < U)).all()),
        "unit": f["unit"].shape == (m,) and np.array_equal(np.unique(f["unit"]), np.arange(U)),
        "feature_names": names is None or (len(names) == len(f["role"]) and all(isinstance(n, str) for n in names)),
        "X": f["X"].shape == (N, m) and f["X"].dtype.kind in "fiub",
        "sets": _are_positions(np.split(sets, np.cumsum(sizes)[:-1]), U),
        "map": _are_positions([f["map"]], U),
        "converged": isinstance(f["converged"], bool) and isinstance(f["interrupted"], bool),
        "nuisance": isinstance(f["nuisance"], float) and not (f["nuisance"] <= 0 or f["nuisance"] == np.inf),
        "prior": f["prior"] in ("dpp", "bernoulli"),
        "diversity": isinstance(f["diversity"], float) and 0 <= f["diversity"] < np.inf,
        "rank": f["rank"] is None if f["log_sums"] is None else type(f["rank"]) is int,
        "log_sums": _are_sums(f["log_sums"], f["rank"], U) if f["log_sums"] is not None else _is_plain(f),
        "size": f["size"] is None or (type(f["size"]) is int and bool((sizes == f["size"]).all())),
        "classes": classes is None or len(classes) == len(np.unique(classes)) > 1,
        "others": type(f["others"]) is int and f["others"] >= 0,
        "others_ratio": len(f["others_ratio"]) == 3 and len(f["others_ratio"][2]) == 3,
        "tilt": f["tilt"] is None
        or (f["tilt"].shape == (U,) and f["tilt"].dtype == np.float64 and bool(np.isfinite(f["tilt"]).all())),
        "certificate": f["certificate"] is None or _are_numbers(f["certificate"], len(Certificate._fields)),
        "y": classes is None or np.array_equal(np.unique(f["y"]), np.arange(len(classes))),
    }
    whole |= _chain_is_consistent(f, U)
    broken = [name for name, right in whole.items() if not right]
    if broken:
        raise ValueError(f"{broken[0]} does not fit the rest")


def _chain_is_consistent(f: Mapping[str, Any], U: int) -> dict[str, bool]:
    """Check that probabilities are in [0, 1], weights sum to one, and shapes match."""
    n, grid = len(f["set_sizes"]), f["grid_probability"]
    nuisances = f["nuisances"]
    positive = {"slab_precisions": (n,), "grid_sizes": grid.shape[:1], "grid_precisions": grid.shape[1:]}
    return {
        "inclusion": f["inclusion"].shape == (U,) and bool(((f["inclusion"] >= 0) & (f["inclusion"] <= 1)).all()),
        "inclusion_errors": f["inclusion_errors"].shape == (U,) and bool((f["inclusion_errors"] >= 0).all()),
        "disagreement": f["disagreement"].shape == (U,)
        and f["disagreement"].dtype.kind == "f"
        and bool((f["disagreement"] >= 0).all()),
        "nuisances": nuisances.shape == (n,) and nuisances.dtype.kind == "f" and not (nuisances <= 0).any(),
        "n_iter": all(type(f[name]) is int and f[name] >= 0 for name in ("n_iter", "n_steps")),
        "settings": bool(f["settings"]),
        **{name: f[name].shape == shape and bool((f[name] > 0).all()) for name, shape in positive.items()},
        **{
            name: p.shape == shape and bool((p >= 0).all() and abs(p.sum() - 1) < 1e-6)
            for name, p, shape in (("set_weights", f["set_weights"], (n,)), ("grid_probability", grid, grid.shape))
        },
    }


def _is_plain(f: Mapping[str, Any]) -> bool:
    """Whether the diversity is that of a prior without sums over sets."""
    return bool(f["diversity"] == (f["prior"] == "dpp"))


def _are_sums(log_sums: Any, rank: Any, n: int) -> bool:
    """Whether these can be the logs of sums over sets of each size."""
    shaped = isinstance(log_sums, np.ndarray) and log_sums.dtype == np.float64 and log_sums.ndim == 1
    return (
        shaped and isinstance(rank, int) and 1 < len(log_sums) <= rank + 1 <= n + 1 and bool((log_sums < np.inf).all())
    )


def _are_numbers(values: Any, n: int) -> bool:
    """Whether these are n non-negative numbers."""
    return len(values) == n and all(type(v) in (int, float) and 0 <= v < math.inf for v in values)


def _are_positions(sets: list[NDArray[Any]], n: int) -> bool:
    """Whether each is a sorted set of positions below n."""
    return all(
        S.ndim == 1 and S.dtype.kind == "i" and (np.diff(S) > 0).all() and (not len(S) or (S[0] >= 0 and S[-1] < n))
        for S in sets
    )
