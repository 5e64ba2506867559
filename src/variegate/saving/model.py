"""Save and load a fitted model."""

import json
import os
from pathlib import Path

import numpy as np

from .. import __version__
from ..estimators import DiverseSelector
from ..writing import write_whole
from .archive import UnreadableModel, read_arrays
from .contents import KINDS, fitted, parameters, restored
from .packing import Pack, unpacked

FORMAT = 5


def save(model: DiverseSelector, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file, for `load`.

    The file is written completely or not at all. It contains the training rows, but no code: a function or `Positions`
    given as `similarity` is replaced by "columns", which matters only if the loaded model is fitted again.

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
        raise ValueError(f"This {kind} is not fitted yet; call fit(X, y) before saving it.")
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
    """Read a model written by `save`. Nothing in the file is executed.

    Raises UnreadableModel, a ValueError, for anything but an intact file of this format.

    See `save` for an example; other files are refused:

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
    if version is True or version != FORMAT:
        raise UnreadableModel(
            f"{path}: written in format {version!r} by variegate {header.get('version')}, but variegate "
            f"{__version__} reads format {FORMAT}; use the version that wrote it, or fit the model again."
        )
    try:
        params, values = ({k: unpacked(v, arrays) for k, v in header[p].items()} for p in ("params", "fitted"))
        return restored(header["kind"], params, values)
    except Exception as error:  # inconsistent values can make anything fail
        raise UnreadableModel(f"{path}: the model in it is damaged ({type(error).__name__}: {error}).") from error
