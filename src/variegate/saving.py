"""One file for a fitted model: arrays and JSON, no pickle, nothing that runs.

The file is a zip of uncompressed .npy arrays, one of which holds JSON. It has all that the estimator has, the rows it
was fitted on among it: predictions, conditioning and new selections need them. Share it as you would share the data.

Large arrays are held small: a table of few different values as their numbers, which is exact; other tables and Φ in
single precision, unless that would change a column by more than a millionth of its standard deviation.
"""

import json
import math
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import __version__
from .candidates import Candidates
from .design import Design
from .dpp import IndependentSets, LowRankDPP, PoweredDPP, Sums
from .estimators import ESTIMATORS
from .estimators.parameters import check_parameters
from .estimators.side_information import rows_of_columns
from .inference import ChainSettings, Fit, Hyperparameters, Sample, Target
from .inference.certificate import Certificate
from .inference.target import OthersRatio
from .likelihoods.checks import sample_weights, table
from .priors import Prior
from .selection import Selection, Training, selection_of
from .similarity import Positions, SimilarityFeatures
from .similarity.factorise import item_names
from .writing import write_whole

FORMAT = 4  # 1, before the exact chains, 2, before survival and counts, 3, all in double precision, are still read
KINDS: dict[str, Any] = {kind.__name__: kind for kind in ESTIMATORS.values()}
MANY_VALUES = 1 << 16
MOST_SETS = 100_000  # chains keep a few thousand
PLAIN = "fiubUSmMV"  # kinds of arrays that a file may hold: numbers, fixed-width text, dates, rows of fields
CANDIDATE, ALWAYS, REFERENCE = 1, 2, 3  # what a column is to the model; 0 if it was screened out or is constant
LARGE = 1 << 20  # bytes of an array from which it is worth the effort to hold it small
FAITHFUL = 1e-6  # largest change of a column in single precision, in standard deviations


class UnreadableModel(ValueError):
    """The file is no model of ours, is damaged, or comes from a newer version.

    >>> issubclass(UnreadableModel, ValueError)
    True
    """


def save(model: Any, path: str | os.PathLike[str]) -> None:
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

    `save` has an example of both; other files are refused:

    >>> load(__file__)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    variegate.saving.UnreadableModel: ...saving.py: ...
    """
    path = Path(path)
    arrays = _read(path)
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
        return _restored(header, _Unpack(arrays))
    except Exception as error:  # values that contradict each other can make anything fail
        raise UnreadableModel(f"{path}: the model in it is damaged ({type(error).__name__}: {error}).") from error


# --- what a model consists of --------------------------------------------------------------------------------------


def _params(model: Any) -> dict[str, Any]:
    params: dict[str, Any] = model.get_params(deep=False)
    if callable(params["similarity"]) or isinstance(params["similarity"], Positions):
        # code stays out of files; what it returned is in the posterior
        params["similarity"] = "columns"
    if params["random_state"] is not None and not isinstance(params["random_state"], int | np.integer):
        params["random_state"] = None
    return params


def _fitted(model: Any) -> dict[str, Any]:
    selection = selection_of(model)
    found, candidates, data = selection.posterior.fit, selection.candidates, selection.training
    role = np.zeros(candidates.n_columns, dtype=np.int8)
    role[candidates.columns], role[candidates.always] = CANDIDATE, ALWAYS
    role[candidates.references] = REFERENCE
    return {
        "role": role,
        "reference_units": candidates.reference_units,
        "feature_names": None if selection.names is None else selection.names.tolist(),
        "classes": selection.classes,
        "unit": candidates.unit,
        "X": _Table(data.X),
        "covariates": data.covariates,
        "y": data.y,
        "weights": data.weights,
        "slab_precision": found.target.slab_precision,
        "nuisance": found.target.nuisance,
        "prior": "dpp" if found.target.prior_has_volume else "bernoulli",
        "prior_theta": found.target.prior.theta,
        **_powered(found.target.prior),
        "family": found.target.family,
        "phi": None if _is_given(model, candidates, found.target.phi) else _Single(found.target.phi),
        "size": found.target.size,
        "converged": bool(found.converged),
        "interrupted": bool(found.interrupted),
        "set_sizes": np.array([len(S) for S in found.sets]),
        "sets": np.concatenate(found.sets) if len(found.sets) else np.empty(0, dtype=np.int64),
        "map": selection.chosen,
        **_left_out(selection),
        **(_variational(found) if isinstance(found, Fit) else _chain(found)),
    }


def _left_out(selection: Selection) -> dict[str, Any]:
    """What is known of columns that are no candidates."""
    target, certificate = selection.posterior.fit.target, selection.certificate
    return {
        "others": int(target.others),
        "others_ratio": list(target.others_ratio),
        "tilt": target.tilt,
        "certificate": None if certificate is None else list(certificate),
    }


def _powered(prior: Prior) -> dict[str, Any]:
    """What a prior with the volume to a power is made of; its normaliser, an estimate, is kept."""
    if not isinstance(prior, PoweredDPP):
        return {"diversity": prior.diversity, "log_sums": None, "rank": None}
    return {"diversity": prior.diversity, "log_sums": prior.size_law.log_sums, "rank": int(prior.rank)}


def _variational(found: Fit) -> dict[str, Any]:
    return {
        "theta": found.q.theta,
        "elbo": found.elbo,
        "elbo_error": found.elbo_error,
        "elbo_trace": found.elbo_trace,
        "log_ratios": found.log_ratios,
    }


def _chain(found: Sample) -> dict[str, Any]:
    return {
        "settings": asdict(found.settings),
        "inclusion": found.inclusion,
        "inclusion_errors": found.inclusion_errors,
        "disagreement": found.disagreement,
        "set_weights": found.weights,
        "slab_precisions": found.slab_precisions,
        "nuisances": found.nuisances,
        "grid_sizes": found.hyperparameters.expected_sizes,
        "grid_precisions": found.hyperparameters.slab_precisions,
        "grid_probability": found.hyperparameters.probability,
        "n_iter": int(found.n_iter),
        "n_steps": int(found.n_steps),
    }


def _restored(header: Mapping[str, Any], pack: "_Unpack") -> Any:
    params = {name: pack.get(value) for name, value in header["params"].items()}
    f = {name: pack.get(value) for name, value in header["fitted"].items()}
    f.setdefault("nuisance", np.nan)  # formats 1 and 2
    f.setdefault("nuisances", np.full(len(f["set_sizes"]), np.nan))
    f.setdefault("reference_units", np.empty(0, dtype=np.int64))  # format 3
    f.setdefault("diversity", float(f["prior"] == "dpp"))
    f.setdefault("log_sums", None)
    for name, nothing in (("others", 0), ("others_ratio", list(OthersRatio())), ("tilt", None), ("certificate", None)):
        f.setdefault(name, nothing)
    _check_consistent(f)
    model = KINDS[header["kind"]](**params)
    check_parameters(model)
    model.n_features_in_ = len(f["role"])
    if f["feature_names"] is not None:
        model.feature_names_in_ = np.array(f["feature_names"], dtype=object)
    if f["classes"] is not None:
        model.classes_ = f["classes"]
    columns, always, references = (np.flatnonzero(f["role"] == role) for role in (CANDIDATE, ALWAYS, REFERENCE))
    candidates = Candidates(columns, f["unit"], always, len(f["role"]), references, f["reference_units"])
    if f["phi"] is None and "dpp" in (f["prior"], f["family"]):
        f["phi"] = rows_of_columns(model.similarity, candidates, getattr(model, "feature_names_in_", None))
    X = table(f["X"])
    design = Design.of(X, sample_weights(f["weights"], X.shape[0]))
    training = Training(design, f["covariates"], f["y"], f["weights"])
    likelihood = model.likelihood(candidates, training).with_slab_precision(f["slab_precision"])
    if np.isfinite(f["nuisance"]):
        likelihood = likelihood.with_nuisance(f["nuisance"])
    log_mean, slope, log_c = f["others_ratio"]
    others = {"others": f["others"], "others_ratio": OthersRatio(log_mean, slope, tuple(log_c)), "tilt": f["tilt"]}
    target = Target(likelihood, _prior(f), family=f["family"], phi=f["phi"], size=f["size"], **others)
    sets = np.split(f["sets"], np.cumsum(f["set_sizes"])[:-1])
    selection = model.selection(candidates, training, _found(f, target, sets), f["map"])
    certificate = None if f["certificate"] is None else Certificate(*f["certificate"])
    return model.publish(replace(selection, certificate=certificate))


def _found(f: Mapping[str, Any], target: Target, sets: list[NDArray[Any]]) -> Sample | Fit:
    ended = {"converged": f["converged"], "interrupted": f["interrupted"]}
    if "theta" in f:
        bound = {name: f[name] for name in ("elbo", "elbo_error", "elbo_trace", "log_ratios")}
        return Fit(q=target.distribution(f["theta"]), target=target, sets=sets, **bound, **ended)
    names = ("inclusion", "inclusion_errors", "disagreement", "slab_precisions", "nuisances", "n_iter", "n_steps")
    return Sample(
        target=target,
        settings=ChainSettings(**f["settings"]),
        sets=sets,
        weights=f["set_weights"],
        hyperparameters=Hyperparameters(f["grid_sizes"], f["grid_precisions"], f["grid_probability"]),
        **{name: f[name] for name in names},
        **ended,
    )


def _check_consistent(f: Mapping[str, Any]) -> None:
    """Refuse values that would be taken for a model though they are none, or that ask for memory the file has not."""
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
        "nuisance": isinstance(f["nuisance"], float) and not f["nuisance"] <= 0,
        "prior": f["prior"] in ("dpp", "bernoulli"),
        "diversity": isinstance(f["diversity"], float) and 0 <= f["diversity"] < np.inf,
        "log_sums": f["log_sums"] is None or _are_sums(f["log_sums"], f["rank"], U),
        "classes": classes is None or len(classes) == len(np.unique(classes)) > 1,
        "others": isinstance(f["others"], int) and f["others"] >= 0,
        "others_ratio": len(f["others_ratio"]) == 3 and len(f["others_ratio"][2]) == 3,
        "tilt": f["tilt"] is None or (f["tilt"].shape == (U,) and f["tilt"].dtype == np.float64),
        "certificate": f["certificate"] is None or _are_numbers(f["certificate"], len(Certificate._fields)),
        "y": classes is None or np.array_equal(np.unique(f["y"]), np.arange(len(classes))),
    }
    whole |= _variational_is_consistent(f, U) if "theta" in f else _chain_is_consistent(f, U)
    broken = [name for name, right in whole.items() if not right]
    if broken:
        raise ValueError(f"{broken[0]} does not fit the rest")


def _variational_is_consistent(f: Mapping[str, Any], U: int) -> dict[str, bool]:
    return {
        "theta": f["theta"].shape == (U,),
        "log_ratios": f["log_ratios"].shape == f["set_sizes"].shape and f["log_ratios"].dtype.kind == "f",
        "elbo_trace": f["elbo_trace"].ndim == 1 and f["elbo_trace"].dtype.kind == "f",
        "elbo": isinstance(f["elbo"], float) and isinstance(f["elbo_error"], float),
    }


def _chain_is_consistent(f: Mapping[str, Any], U: int) -> dict[str, bool]:
    """Probabilities are probabilities, weights sum to one, and everything has its shape."""
    n, grid = len(f["set_sizes"]), f["grid_probability"]
    nuisances = f["nuisances"]
    positive = {"slab_precisions": (n,), "grid_sizes": grid.shape[:1], "grid_precisions": grid.shape[1:]}
    return {
        "inclusion": f["inclusion"].shape == (U,) and bool(((f["inclusion"] >= 0) & (f["inclusion"] <= 1)).all()),
        "inclusion_errors": f["inclusion_errors"].shape == (U,) and bool((f["inclusion_errors"] >= 0).all()),
        "disagreement": f["disagreement"].shape == (U,) and f["disagreement"].dtype.kind == "f",
        "nuisances": nuisances.shape == (n,) and nuisances.dtype.kind == "f" and not (nuisances <= 0).any(),
        "n_iter": all(isinstance(f[name], int) and f[name] >= 0 for name in ("n_iter", "n_steps")),
        **{name: f[name].shape == shape and bool((f[name] > 0).all()) for name, shape in positive.items()},
        **{
            name: p.shape == shape and bool((p >= 0).all() and abs(p.sum() - 1) < 1e-6)
            for name, p, shape in (("set_weights", f["set_weights"], (n,)), ("grid_probability", grid, grid.shape))
        },
    }


def _are_sums(log_sums: Any, rank: Any, n: int) -> bool:
    """Whether these are the logs of sums over sets of each size."""
    shaped = isinstance(log_sums, np.ndarray) and log_sums.dtype == np.float64 and log_sums.ndim == 1
    return (
        shaped and isinstance(rank, int) and 1 < len(log_sums) <= rank + 1 <= n + 1 and bool((log_sums < np.inf).all())
    )


def _are_numbers(values: Any, n: int) -> bool:
    """Whether these are n numbers from 0 on."""
    return len(values) == n and all(type(v) in (int, float) and 0 <= v < math.inf for v in values)


def _are_positions(sets: list[NDArray[Any]], n: int) -> bool:
    """Whether each is a sorted set of positions below n."""
    return all(
        S.ndim == 1 and S.dtype.kind == "i" and (np.diff(S) > 0).all() and (not len(S) or (S[0] >= 0 and S[-1] < n))
        for S in sets
    )


def _prior(f: Mapping[str, Any]) -> Prior:
    if f["prior"] == "bernoulli":
        return IndependentSets(f["prior_theta"])
    if f["log_sums"] is None:
        return LowRankDPP(f["phi"], f["prior_theta"])
    return PoweredDPP(f["phi"], f["prior_theta"], f["diversity"], Sums(f["log_sums"], f["rank"]))


def _is_given(model: Any, candidates: Candidates, phi: Any) -> bool:
    """Whether Φ is what the parameter `similarity` says, so that it need not be held twice."""
    given = model.similarity
    if phi is None or isinstance(given, str | Positions) or callable(given) or candidates.is_grouped:
        return phi is None
    return np.array_equal(rows_of_columns(given, candidates, getattr(model, "feature_names_in_", None)), phi)


# --- values in JSON, arrays beside it ------------------------------------------------------------------------------


class _Single(NamedTuple):
    """An array that may be held in single precision."""

    values: Any


class _Table(NamedTuple):
    """A table (N, M) that may be held as numbers of its values, or in single precision."""

    values: Any

    def numbered(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The different values, and the number of each entry's; None where they are many."""
        first = self.values.ravel()[:MANY_VALUES]
        if 4 * len(np.unique(first)) > len(first):
            return None
        values, numbers = np.unique(self.values, return_inverse=True)
        if len(values) > MANY_VALUES:
            return None
        return values, numbers.reshape(self.values.shape).astype(np.min_scalar_type(len(values) - 1))

    def is_faithful(self) -> bool:
        """Whether single precision is enough."""
        change = np.abs(self.values.astype(np.float32) - self.values).max(axis=0)
        return bool((change <= FAITHFUL * self.values.std(axis=0)).all())


class _Pack:
    """Turns values into JSON; arrays go into `arrays` under the name that the JSON mentions."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def put(self, value: Any, name: str) -> Any:
        """JSON for a value; `name` is for the error."""
        if isinstance(value, _Table | _Single):
            return self._put_small(value, name)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return {"float": repr(value)} if isinstance(value, float) and not np.isfinite(value) else value
        if sparse.issparse(value):
            table = sparse.csc_array(value)
            parts = {"data": table.data, "indices": table.indices, "indptr": table.indptr}
            return {"sparse": {k: self.put(v, name) for k, v in parts.items()}, "shape": list(table.shape)}
        if isinstance(value, SimilarityFeatures):
            array = self.put(_Single(np.asarray(value)), name)
            return {
                "similarity": array,
                "names": self.put(value.names, name),
                "error": self.put(value.trace_error, name),
            }
        if isinstance(value, np.ndarray) and value.dtype.kind in PLAIN:
            key = f"a{len(self.arrays)}"
            self.arrays[key] = np.ascontiguousarray(value)
            return {"array": key}
        if isinstance(value, Mapping):
            return {"map": [[self.put(k, name), self.put(v, name)] for k, v in value.items()]}
        if isinstance(value, np.ndarray | list | tuple | set):
            kind = "objects" if isinstance(value, np.ndarray) else "list"
            return {kind: [self.put(item, name) for item in value]}
        if hasattr(value, "to_numpy"):
            return self.put(_with_names(value), name)
        raise TypeError(
            f"A file without code cannot hold {name} = {type(value).__name__}: give numbers, text, or arrays of them."
        )

    def _put_small(self, held: _Table | _Single, name: str) -> Any:
        value = held.values
        if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.nbytes < LARGE:
            return self.put(value, name)
        numbered = held.numbered() if isinstance(held, _Table) else None
        if numbered is not None:
            return {"values": self.put(numbered[0], name), "numbers": self.put(numbered[1], name)}
        if isinstance(held, _Table) and not held.is_faithful():
            return self.put(value, name)
        return {"double": self.put(value.astype(np.float32), name)}


def _with_names(frame: Any) -> Any:
    """A data frame or Series of values by column as something that keeps the names of its rows."""
    names, values = item_names(frame), frame.to_numpy()
    if names is None:
        return values
    return SimilarityFeatures(values, names) if values.ndim == 2 else dict(zip(names, values.tolist(), strict=True))


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
        if "double" in value:
            return self.get(value["double"]).astype(np.float64)
        if "numbers" in value:
            return self.get(value["values"])[self.get(value["numbers"])]
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


def _check_header(file: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """Refuse an array that would ask for more memory than it has bytes in the file."""
    with file.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = read(stream)
        if math.prod(shape) * kind.itemsize != member.file_size - stream.tell() or (kind.itemsize == 0):
            raise UnreadableModel(f"{path}: not a variegate model (array {member.filename!r} is not what it says).")


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as file:
            members = file.infolist()
            # ours are stored as they are, side by side, so together they cannot be larger than the file
            strange = any(m.compress_type != zipfile.ZIP_STORED or not m.filename.endswith(".npy") for m in members)
            if strange or sum(m.file_size for m in members) > path.stat().st_size:
                raise UnreadableModel(f"{path}: not a variegate model (it has other parts than plain arrays).")
            for member in members:
                _check_header(file, member, path)
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
    odd = [name for name, array in found.items() if array.dtype.kind not in PLAIN]
    if odd:
        raise UnreadableModel(f"{path}: not a variegate model (array {odd[0]!r} holds no plain numbers or text).")
    return found
