"""Compare methods on the same splits."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..baselines import chooses_size
from ..candidates import by_column
from ..checks import is_number, is_whole
from ..messages import counted
from ..tasks import task_named
from .identity import described
from .inputs import Data, named_methods, plain_number, read_data
from .result import Comparison, comparison_of
from .runner import Job, Results, is_done, run_jobs
from .study import Study
from .trial import job_key, run_repeat


def compare(
    methods: Sequence[str] | Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    similarity: Any = "columns",
    task: str | None = None,
    repeats: int = 100,
    test_size: float = 0.2,
    size: int | None = None,
    screen: Any = None,
    kernel: Any = None,
    points: Any = None,
    communities: Any = None,
    reference: str = "variegate",
    random_state: int | None = 0,
    n_jobs: int | None = None,
    store: str | Path | None = None,
    progress: bool = True,
) -> Comparison:
    """Compare feature selection methods over repeated splits into a training and a test part.

    In each repeat every method selects the same number of columns on the training part; a linear or logistic model
    is fitted there to the selected columns and scored on the test part; the diversity of the set is measured.
    Screening and similarity use the training part only.

    Parameters
    ----------
    methods : names from `variegate.baselines.METHODS`, or {name: method}
        A method is such a name, a function of (problem, size, rng), or a scikit-learn selector or model.
    X : (N, M) array or data frame; y : (N,) numbers or labels of any type
    similarity : "columns", array (M, d), callable or None
        As in the estimators: given to the methods, and used to measure diversity unless `kernel` is given.
    task : "regression", "classification", "survival" or "counts"; None: from the type of y (never counts)
    repeats, test_size : number of splits (stratified by class), and the share of test rows, or their number
    size : number of features that each method selects
        None: as many as `reference` selects in that repeat, or one if it selects none (with a warning).
    screen : number of columns to keep first, by a univariate test on the training part
        Or a function of the training part (X, y) that returns the positions to keep.
    kernel : the full similarity, to measure diversity with if `similarity` is a low-rank factor of it
        (M, d) features, or a kernel of the M columns with blocks (`similarity.network_kernel`).
    points : (M, p) places of the columns, for their mean pairwise distance
    communities : (M,) labels or {column: label}, to count how many are hit
    reference : the method that the others are tested against; if "variegate" is not among them, name one to get tests
    random_state : seed from which every repeat and method derives its own
    n_jobs : processes; results do not depend on it
        None: 1, or the setting of `joblib.parallel_config`. With its backend "dask" the call runs on that cluster.
    store : file to which each repeat is written, as a line of JSON, when it is done
        The same call continues there, retries failed methods, and may add repeats or methods. A file of any other call
        is refused. Functions count with their code and the variables that they read; what an installed package
        defines, by name.
    progress : False writes nothing to stderr

    Returns
    -------
    Comparison
        Tables, summary and plots.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> y = X[:, 1] + 0.5 * rng.normal(size=50)
    >>> found = compare(["omp", "univariate"], X, y, size=1, repeats=2, reference="omp", progress=False)
    >>> found.values("R2").shape
    (2, 2)
    """
    data = read_data(X, y, task)
    M = data.X.shape[1]
    named = named_methods(methods)
    study = Study(
        data, named, reference, plain_number(size), similarity, kernel, _places(points, M),
        by_column(communities, data.names, M, "communities"), plain_number(screen),
        plain_number(test_size), _seed(random_state, store),
        marks={} if store is None else {name: described(method, name) for name, method in named.items()},
    )  # fmt: skip
    _check(study, repeats)
    results = run_jobs(
        run_repeat, study, lambda known: _jobs_left(study, repeats, known),
        store=store, call=study.call, n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    found = comparison_of(study, repeats, results)
    for message in found.messages():
        warnings.warn(message, stacklevel=2)
    return found


def _places(points: Any, n_columns: int) -> Any:
    if points is None:
        return None
    found = np.asarray(points)
    if found.dtype.kind not in "fiu" or found.ndim != 2 or len(found) != n_columns or not np.isfinite(found).all():
        raise ValueError(
            f"points must be finite numbers of shape ({n_columns}, p), one row per column of X, "
            f"got {found.dtype} of shape {found.shape}."
        )
    return found.astype(np.float64)


def _seed(random_state: Any, store: Any) -> int:
    if random_state is None and store is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not is_whole(random_state) or random_state < 0:
        raise ValueError(
            "random_state must be a non-negative whole number, or None without a store (such a run could not be "
            f"continued), got {random_state!r}."
        )
    return int(random_state)


def _check(study: Study, repeats: int) -> None:
    """Reject what would fail in every repeat."""
    M = study.data.X.shape[1]
    if not is_whole(repeats) or repeats < 1:
        raise ValueError(f"repeats must be a whole number above zero, got {repeats!r}.")
    counted = study.screen is not None and not callable(study.screen)
    if counted and not (is_whole(study.screen) and study.screen >= 1):
        raise ValueError(f"screen must be a number of columns to keep, or a function, got {study.screen!r}.")
    most = min(M, study.screen) if counted else M
    if study.size is not None and not (is_whole(study.size) and 1 <= study.size <= most):
        raise ValueError(f"size must be a whole number from 1 to {most}, the columns left, got {study.size!r}.")
    known = study.reference in study.methods and chooses_size(study.methods[study.reference])
    if study.size is None and not known:
        raise ValueError(
            f"size=None uses the size of the reference, but {study.reference!r} is not among the methods, or cannot "
            "choose a size; give a size, or name another reference."
        )
    if study.reference != "variegate" and study.reference not in study.methods:
        raise ValueError(f"reference must be one of {', '.join(study.methods)}, got {study.reference!r}.")
    _check_similarity(study)
    if hasattr(study.kernel, "block") and len(study.kernel.diagonal()) != M:
        raise ValueError(f"kernel must be of the {M} columns of X, got {len(study.kernel.diagonal())}.")
    N = len(study.data.y)
    share = study.test_size / N if is_whole(study.test_size) else study.test_size
    if not is_number(share) or not 0 < share < 1:
        raise ValueError(
            f"test_size must be a share between 0 and 1, or a number of rows below {N}, got {study.test_size!r}."
        )
    _check_split(study.data, min(share, 1 - share), study.test_size)


def _check_similarity(study: Study) -> None:
    """Check similarity and kernel against the columns; with screening, only those kept matter, so skip the check."""
    columns = np.arange(study.data.X.shape[1])
    for name in ("similarity", "kernel"):
        given = getattr(study, name)
        if callable(given) or hasattr(given, "block") or study.screen is not None:
            continue
        if not (isinstance(given, str) and given == "columns"):
            try:
                study.features(given, study.data.X, columns)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error


def _check_split(data: Data, smaller: float, test_size: Any) -> None:
    """Require each stratum, or else two rows, in both parts; `smaller` is the share of the smaller part."""
    strata = task_named(data.task).strata(data.y)
    if strata is None:
        if len(data.y) * smaller < 2:
            raise ValueError(
                f"Both parts must have at least two rows, got test_size={test_size!r} of {len(data.y)} rows."
            )
        return
    values, counts = np.unique(strata, return_counts=True)
    if counts.min() * smaller < 1:
        rarest = values[counts.argmin()]
        what = f"of class {data.classes[rarest]!r}" if data.classes else "with an event" if rarest else "without one"
        raise ValueError(
            f"{counted(int(counts.min()), 'row')} {what}: too few, since both parts need some. Remove that class, or "
            f"change test_size={test_size!r}."
        )


def _jobs_left(study: Study, repeats: int, results: Results) -> list[Job]:
    """Return for each repeat the methods not done yet, the reference first, and the size if it is known."""
    names = sorted(study.methods, key=lambda name: name != study.reference)
    jobs: list[Job] = []
    for repeat in range(repeats):
        left = [name for name in names if not is_done(results, job_key(study, repeat, name))]
        size = study.size
        if size is None and study.reference not in left:
            size = len(results[job_key(study, repeat, study.reference)]["positions"])
        if left:
            jobs.append((repeat, left, size))
    return jobs
