"""One file for a fitted model: arrays and JSON, no pickle, nothing that runs.

The file is a zip of uncompressed .npy arrays, one of which holds JSON. It has all that the estimator has, the rows it
was fitted on among it: predictions, conditioning and new selections need them. Share it as you would share the data.
"""

import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import __version__
from .dpp import IndependentSets, LowRankDPP, SetDistribution
from .estimators import DiverseClassifier, DiverseRegressor
from .estimators.candidates import Candidates
from .estimators.selector import Training
from .inference import Fit, Target
from .similarity import SimilarityFeatures

FORMAT = 1
KINDS = {"DiverseClassifier": DiverseClassifier, "DiverseRegressor": DiverseRegressor}
NUMBERS = "fiubUS"  # kinds of arrays that a file may hold: plain numbers and fixed-width text


class UnreadableModel(ValueError):
    """The file is no model of ours, is damaged, or comes from a newer version."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file, which `load` reads.

    The file is complete or not there: it is written beside its place and moved. It holds the training rows.
    """
    kind = type(model).__name__
    if KINDS.get(kind) is not type(model):
        raise TypeError(f"save takes a fitted {' or '.join(sorted(KINDS))}, got {kind}.")
    if not hasattr(model, "posterior_"):
        raise ValueError(f"This {kind} has not been fitted yet: call fit(X, y) first, then save it.")
    pack = _Pack()
    header = {
        "format": FORMAT,
        "version": __version__,
        "kind": kind,
        "params": {name: pack.put(value, name) for name, value in _params(model).items()},
        "fitted": {name: pack.put(value, name) for name, value in _fitted(model).items()},
    }
    pack.arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    write_whole(Path(path), lambda file: np.savez(file, **pack.arrays))  # type: ignore[arg-type]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote. Nothing in the file is run.

    Raises UnreadableModel, a ValueError, for anything else than an intact file of this or an older format.
    """
    path = Path(path)
    arrays = _read(path)
    try:
        header = json.loads(bytes(arrays["header"]))
        version = header["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableModel(f"{path}: not a variegate model (it has no readable header).") from error
    if version != FORMAT:
        raise UnreadableModel(
            f"{path}: written in format {version!r} by variegate {header.get('version')}, this is format {FORMAT} of "
            f"{__version__}; update variegate, or save the model again."
        )
    try:
        return _restored(header, _Unpack(arrays))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise UnreadableModel(f"{path}: the model in it is damaged ({type(error).__name__}: {error}).") from error


# --- what a model consists of --------------------------------------------------------------------------------------


def _params(model: Any) -> dict[str, Any]:
    params: dict[str, Any] = model.get_params(deep=False)
    if callable(params["similarity"]):  # code stays out of files; what it returned is in the posterior
        params["similarity"] = "columns"
    if params["random_state"] is not None and not isinstance(params["random_state"], int | np.integer):
        params["random_state"] = None
    return params


def _fitted(model: Any) -> dict[str, Any]:
    found, candidates, data = model.posterior_.fit, model._candidates, model._training
    sizes = np.array([len(S) for S in found.sets])
    return {
        "n_features_in": model.n_features_in_,
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist() or None,
        "classes": getattr(model, "classes_", None),
        "columns": candidates.columns,
        "unit": candidates.unit,
        "always": candidates.always,
        "X": data.X,
        "covariates": data.covariates,
        "y": data.y,
        "weights": data.weights,
        "slab_precision": found.target.likelihood.slab_precision,
        "prior_theta": found.target.prior.theta,
        "phi": found.target.phi,
        "size": found.target.size,
        "theta": found.q.theta,
        "elbo": found.elbo,
        "elbo_error": found.elbo_error,
        "elbo_trace": found.elbo_trace,
        "converged": bool(found.converged),
        "interrupted": bool(found.interrupted),
        "set_sizes": sizes,
        "sets": np.concatenate(found.sets) if len(found.sets) else np.empty(0, dtype=np.int64),
        "log_ratios": found.log_ratios,
        "map": model._map,
    }


def _restored(header: Mapping[str, Any], pack: "_Unpack") -> Any:
    params = {name: pack.get(value) for name, value in header["params"].items()}
    f = {name: pack.get(value) for name, value in header["fitted"].items()}
    model = KINDS[header["kind"]](**params)
    model.n_features_in_ = f["n_features_in"]
    if f["feature_names"] is not None:
        model.feature_names_in_ = np.array(f["feature_names"], dtype=object)
    if f["classes"] is not None:
        model.classes_ = f["classes"]
    model._candidates = Candidates(f["columns"], f["unit"], f["always"], f["n_features_in"])
    model._training = Training(f["X"], f["covariates"], f["y"], f["weights"])
    likelihood = model._likelihood().with_slab_precision(f["slab_precision"])
    prior = _distribution(params["prior"], f["phi"], f["prior_theta"])
    target = Target(likelihood, prior, family=params["posterior"], phi=f["phi"], size=f["size"])
    found = Fit(
        q=target.distribution(f["theta"]),
        target=target,
        sets=np.split(f["sets"], np.cumsum(f["set_sizes"])[:-1]),
        **{name: f[name] for name in ("elbo", "elbo_error", "elbo_trace", "converged", "interrupted", "log_ratios")},
    )
    return model._keep(found, f["map"])


def _distribution(kind: str, phi: Any, theta: NDArray[np.float64]) -> SetDistribution:
    return LowRankDPP(phi, theta) if kind == "dpp" else IndependentSets(theta)


# --- values in JSON, arrays beside it ------------------------------------------------------------------------------


class _Pack:
    """Turns values into JSON; arrays go into `arrays` under the name that the JSON mentions."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def put(self, value: Any, name: str) -> Any:
        """JSON for a value; `name` is for the error."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return {"float": repr(value)} if isinstance(value, float) and not np.isfinite(value) else value
        if sparse.issparse(value):
            table = sparse.csc_array(value)
            parts = {"data": table.data, "indices": table.indices, "indptr": table.indptr}
            return {"sparse": {k: self.put(v, name) for k, v in parts.items()}, "shape": list(table.shape)}
        if isinstance(value, SimilarityFeatures):
            array = self.put(np.asarray(value), name)
            return {
                "similarity": array,
                "names": self.put(value.names, name),
                "error": self.put(value.trace_error, name),
            }
        if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
            key = f"a{len(self.arrays)}"
            self.arrays[key] = np.ascontiguousarray(value)
            return {"array": key}
        if isinstance(value, Mapping):
            return {"map": [[self.put(k, name), self.put(v, name)] for k, v in value.items()]}
        if isinstance(value, np.ndarray | list | tuple | set):
            kind = "objects" if isinstance(value, np.ndarray) else "list"
            return {kind: [self.put(item, name) for item in value]}
        if hasattr(value, "to_numpy"):
            return self.put(value.to_numpy(), name)
        raise TypeError(
            f"A file without code cannot hold {name} = {type(value).__name__}: give numbers, text, or arrays of them."
        )


class _Unpack:
    """The way back."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def get(self, value: Any) -> Any:
        """Value of a piece of JSON."""
        if not isinstance(value, dict):
            return value
        if "array" in value:
            return self.arrays[value["array"]]
        if "float" in value:
            return float(value["float"])
        if "sparse" in value:
            parts = {k: self.get(v) for k, v in value["sparse"].items()}
            table = sparse.csc_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(value["shape"]))
            table.check_format(full_check=True)
            return table
        if "similarity" in value:
            return SimilarityFeatures(
                self.get(value["similarity"]), self.get(value["names"]), self.get(value["error"])
            )
        if "map" in value:
            return {self.get(k): self.get(v) for k, v in value["map"]}
        if "objects" in value:
            out = np.empty(len(value["objects"]), dtype=object)
            out[:] = [self.get(item) for item in value["objects"]]
            return out
        return [self.get(item) for item in value["list"]]


# --- the file ------------------------------------------------------------------------------------------------------


def write_whole(path: Path, write: Callable[[Any], object]) -> None:
    """Let `write` fill a binary file; it is complete or not there, being written beside its place and moved."""
    handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as file:
            members = file.infolist()
            # ours are stored as they are, so nothing in a file can be larger than the file
            if any(m.compress_type != zipfile.ZIP_STORED or not m.filename.endswith(".npy") for m in members):
                raise UnreadableModel(f"{path}: not a variegate model (it has other parts than plain arrays).")
            damaged = file.testzip()
            if damaged:
                raise UnreadableModel(f"{path}: damaged in transit ({damaged} fails its checksum); copy it again.")
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except UnreadableModel:
        raise
    except OSError:
        raise
    except Exception as error:  # zipfile and numpy raise many kinds for bytes that are no zip or no array
        raise UnreadableModel(f"{path}: not a variegate model, or cut off ({error}).") from error
    strange = [name for name, array in found.items() if array.dtype.kind not in NUMBERS]
    if strange:
        raise UnreadableModel(f"{path}: not a variegate model (array {strange[0]!r} holds no plain numbers or text).")
    return found
