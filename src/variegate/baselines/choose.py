"""All methods by name, and the function that runs one."""

from difflib import get_close_matches
from typing import Any

import numpy as np

from ..sets import as_index_set
from ..types import IntArray
from .greedy import forward_evidence, forward_score, mrmr, omp
from .ours import Diverse, Variational
from .penalised import elastic_net, lasso
from .problem import Method, Problem, checked
from .univariate import random_among_best, univariate
from .wrapped import Wrapped

METHODS: dict[str, Any] = {
    "variegate": Diverse(),
    "most_probable": Diverse(choose="probability"),
    "bernoulli_dpp": Variational("bernoulli", "dpp"),
    "dpp_bernoulli": Variational("dpp", "bernoulli"),
    "spike_slab": Variational("bernoulli", "bernoulli"),
    "omp": omp,
    "lasso": lasso,
    "elastic_net": elastic_net,
    "forward_evidence": forward_evidence,
    "forward_score": forward_score,
    "univariate": univariate,
    "random": random_among_best,
    "mrmr": mrmr,
}


def select(method: Any, problem: Problem, size: int | None, rng: np.random.Generator) -> IntArray:
    """Select exactly `size` columns by a method, as sorted positions; None: the method chooses the size, if it can.

    `method` is a name from METHODS, a function of (problem, size, rng), or a scikit-learn selector or model.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 6))
    >>> select("omp", Problem(X, X[:, 1] - X[:, 4], "regression"), 2, rng)
    array([1, 4])
    """
    call, problem = as_method(method), checked(problem)
    label, M = _label(method), problem.n_features
    if size is None and not chooses_size(call):
        raise ValueError(f"{label} needs to be told how many features to choose: give a size.")
    if size is not None and (isinstance(size, bool) or not 1 <= size <= M or size != int(size)):
        raise ValueError(f"size must be a whole number from 1 to {M}, the number of columns, got {size!r}.")
    found = as_index_set(call(problem, None if size is None else int(size), rng), M, f"The answer of {label}")
    if size is not None and len(found) != size:
        raise ValueError(f"{label} chose {len(found)} features where {size} were asked for.")
    return found


def chooses_size(method: Any) -> bool:
    """Whether a method can choose the number of features, so that the size may be None.

    >>> chooses_size("variegate"), chooses_size("omp")
    (True, False)
    """
    return bool(getattr(as_method(method), "chooses_size", False))


def as_method(given: Any) -> Method:
    """The method with this name; a scikit-learn object, wrapped; or a function as it is.

    >>> as_method("omp").__name__
    'omp'
    """
    if isinstance(given, str):
        if given not in METHODS:
            near = get_close_matches(given.lower().replace(" ", "_").replace("-", "_"), METHODS, n=1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"There is no method {given!r}{meant}; there are {', '.join(METHODS)}.")
        return METHODS[given]  # type: ignore[no-any-return]
    if hasattr(given, "fit") and not isinstance(given, type):
        return Wrapped(given)
    if not callable(given) or isinstance(given, type):
        raise TypeError(
            "A method must be a name, a function of (problem, size, rng), or a scikit-learn selector or model "
            f"(an object, not a class), got {given!r}."
        )
    return given  # type: ignore[no-any-return]


def _label(method: Any) -> str:
    return method if isinstance(method, str) else str(getattr(method, "__name__", type(method).__name__))
