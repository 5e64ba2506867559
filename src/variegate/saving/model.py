"""Write a fitted model, and read it."""

import json
import os
from pathlib import Path

import numpy as np

from .. import __version__
from ..estimators import DiverseSelector
from ..writing import write_whole
from .archive import UnreadableModel, read_arrays
from .contents import fitted, parameters
from .packing import Pack, Unpack
from .restored import KINDS, restored

FORMAT = 4  # 1, before the exact chains, 2, before survival and counts, 3, all in double precision, are still read


def save(model: DiverseSelector, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file, which `load` reads.

    The file is complete or not there: it is written beside its place and moved. It holds the training rows. Code stays
    out of it: a function or `Positions` given as `similarity` is replaced by "columns", which matters only if the
    loaded model is fitted again.

    >>> import tempfile
    >>> from variegate import DiverseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> model = DiverseRegressor(random_state=0).fit(X, X[:, 1] + 0.5 * rng.normal(size=50))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/fit.vg")
    ...     load(f"{folder}/fit.vg").support_.tolist()
    [False, True, False, False]
    """
    kind = type(model).__name__
    if KINDS.get(kind) is not type(model):
        *others, last = sorted(KINDS)
        raise TypeError(f"save takes a fitted {', '.join(others)} or {last}, got {kind}.")
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"This {kind} has not been fitted yet: call fit(X, y) first, then save it.")
    pack = Pack()
    header = {
        "format": FORMAT,
        "version": __version__,
        "kind": kind,
        "params": {name: pack.put(value, name) for name, value in parameters(model).items()},
        "fitted": {name: pack.put(value, name) for name, value in fitted(model).items()},
    }
    pack.arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    write_whole(Path(path), lambda file: np.savez(file, **pack.arrays))  # type: ignore[arg-type]


def load(path: str | os.PathLike[str]) -> DiverseSelector:
    """Read a model that `save` wrote. Nothing in the file is run.

    Raises UnreadableModel, a ValueError, for anything else than an intact file of this or an older format.

    `save` has an example of both; other files are refused:

    >>> load(__file__)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    variegate.saving.archive.UnreadableModel: ...model.py: ...
    """
    path = Path(path)
    arrays = read_arrays(path)
    try:
        header = json.loads(bytes(arrays["header"]))
        version = header["format"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UnreadableModel(f"{path}: not a variegate model (it has no readable header).") from error
    if version is True or version not in range(1, FORMAT + 1):
        raise UnreadableModel(
            f"{path}: written in format {version!r} by variegate {header.get('version')}, this is format {FORMAT} of "
            f"{__version__}; update variegate, or save the model again."
        )
    try:
        pack = Unpack(arrays)
        params, values = ({k: pack.get(v) for k, v in header[part].items()} for part in ("params", "fitted"))
        return restored(header["kind"], params, values)
    except Exception as error:  # values that contradict each other can make anything fail
        raise UnreadableModel(f"{path}: the model in it is damaged ({type(error).__name__}: {error}).") from error
