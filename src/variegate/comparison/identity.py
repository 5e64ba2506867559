"""Describe arguments by what they consist of, so that a later process can tell whether it was given the same.

pickle and joblib.hash would not do: they know functions and classes by name, drop what a subclass of an array adds,
and can turn one value into different bytes in two processes.
"""

import copyreg
import dis
import hashlib
import sys
import types
from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from .runner import StoreError

KNOWN = {__name__.partition(".")[0], *sys.stdlib_module_names}
INSTALLED = ("site-packages", "dist-packages")
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
CODE = (
    "co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip
WRITTEN_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE of a class
BOOKKEEPING = {  # of a class; Python adds some of it when it is first needed
    "__dict__", "__weakref__", "__doc__", "__module__", "__slotnames__", "__firstlineno__", "__static_attributes__",
    "__annotations__", "__annotations_cache__", "__annotate_func__", "_abc_impl",
}  # fmt: skip


def described(given: Any, name: str) -> str:
    """Describe the argument `name`: numbers and text as they are, others by name or type, and content.

    An array counts with its dtype and what its class adds (the names of rows); a frame with its labels; a function
    with its code, its defaults and the variables that it reads. What an installed package defines is known by name.

    >>> described(lambda x: x + 1, "f") == described(lambda x: x + 2, "f")
    False
    """
    if isinstance(given, str | int | float | None):
        return repr(given)
    try:
        named = given if hasattr(given, "__qualname__") else type(given)
        return f"{named.__module__}.{named.__qualname__} {_digest(given, {}, {}).hex()[:16]}"
    except Exception as error:  # objects can fail in any way to show what they hold
        raise StoreError(
            f"{name} must be something that a later run can recognise, since results are stored, got "
            f"{type(given).__name__} ({type(error).__name__}: {error}); give what can be pickled, or no store."
        ) from error


def _digest(thing: Any, begun: dict[int, int], known: dict[int, tuple[bytes, Any]]) -> bytes:
    """Return the SHA-256 of a thing; `begun` numbers the things that it is part of, `known` keeps those done."""
    if type(thing) in PLAIN:
        content = thing if isinstance(thing, bytes) else repr(thing).encode(errors="backslashreplace")
        return hashlib.sha256(type(thing).__name__.encode() + content).digest()
    if id(thing) in begun:
        return hashlib.sha256(b"contains itself %d" % begun[id(thing)]).digest()
    if id(thing) not in known:
        begun[id(thing)] = len(begun)
        parts = [_digest(part, begun, known) for part in _parts(thing)]
        if isinstance(thing, set | frozenset):  # their order differs between processes
            parts.sort()
        del begun[id(thing)]
        known[id(thing)] = hashlib.sha256(b"".join(parts)).digest(), thing  # alive, so that its id stays its own
    return known[id(thing)][0]


def _parts(thing: Any) -> Iterator[Any]:
    """Yield what tells a thing from others, its type first."""
    kind = type(thing)
    yield kind
    if isinstance(thing, types.FunctionType | types.ModuleType | type):
        yield from _definition(thing)
    elif kind in (list, tuple, set, frozenset):
        yield from thing
    elif kind in (dict, types.MappingProxyType):
        yield from thing.items()
    elif kind is np.ndarray:
        yield from (str(thing.dtype), thing.shape)
        yield thing.ravel().tolist() if thing.dtype.hasobject else _bytes_digest(thing)
    elif kind is types.CodeType:
        yield from attrgetter(*CODE)(thing)
    elif kind is property:
        yield from (thing.fget, thing.fset, thing.fdel)
    elif hasattr(thing, "__wrapped__"):  # a method of a class, or what a decorator made of a function
        yield thing.__wrapped__
    else:
        yield from _pickled(thing)


def _bytes_digest(array: Any) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).digest()


def _definition(thing: Any) -> Iterable[Any]:
    """Return the name of what an installed package defines, or what another function, class or module consists of."""
    if isinstance(thing, types.ModuleType):
        file = getattr(thing, "__file__", None)
        own = [] if _is_installed(thing.__name__) or file is None else [Path(file).read_bytes()]
        return [thing.__name__, *own]
    if _is_known_by_name(thing):
        return thing.__module__, thing.__qualname__
    if isinstance(thing, type):
        return thing.__bases__, {name: value for name, value in vars(thing).items() if name not in BOOKKEEPING}
    cells = [cell.cell_contents for cell in thing.__closure__ or ()]
    return thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells, vars(thing), _read_by(thing)


def _read_by(function: types.FunctionType) -> dict[str, Any]:
    """Return the global variables that a function, or a function inside it, reads."""
    names = sorted(set(_names_read(function.__code__)) & function.__globals__.keys())
    return {name: function.__globals__[name] for name in names}


def _names_read(code: types.CodeType) -> Iterator[str]:
    yield from (step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names_read(inner)


def _is_installed(module: str) -> bool:
    """Whether a module is Python's, ours, of an installed package, or not written in Python."""
    if module.partition(".")[0] in KNOWN:
        return True
    if module == "__main__" or module not in sys.modules:
        return False
    file = getattr(sys.modules[module], "__file__", None)
    return file is None or any(part in INSTALLED for part in Path(file).parts)


def _is_known_by_name(thing: types.FunctionType | type) -> bool:
    if isinstance(thing, type) and not thing.__flags__ & WRITTEN_IN_PYTHON:
        return True
    try:
        named = attrgetter(thing.__qualname__)(sys.modules[thing.__module__])
    except (AttributeError, KeyError):  # a lambda, or inside a function
        return False
    return named is thing and _is_installed(thing.__module__)


def _pickled(thing: Any) -> Iterator[Any]:
    """Yield what pickle would store of an object, one level deep."""
    if isinstance(thing, cached_property):  # it holds a lock in Python 3.11
        yield thing.func
        return
    reduce = copyreg.dispatch_table.get(type(thing))
    found = reduce(thing) if reduce else thing.__reduce_ex__(4)
    if isinstance(found, str):
        yield from (getattr(thing, "__module__", None), found)
    else:
        yield from (list(part) if isinstance(part, Iterator) else part for part in found)
