"""Read the arrays of a model file, a zip of uncompressed .npy files, without trusting it."""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = "fiubUSmMV"  # dtype kinds allowed in a file: numbers, fixed-width text, dates, records


class UnreadableModel(ValueError):
    """The file is not a variegate model, is damaged, or comes from a newer version.

    >>> issubclass(UnreadableModel, ValueError)
    True
    """


def _check_header(file: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """Reject an array that would take more memory than it has bytes in the file."""
    with file.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = read(stream)
        if math.prod(shape) * kind.itemsize != member.file_size - stream.tell() or (kind.itemsize == 0):
            raise UnreadableModel(
                f"{path}: not a variegate model (array {member.filename!r} does not match its header)."
            )


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of a file by name, or raise UnreadableModel."""
    try:
        with zipfile.ZipFile(path) as file:
            members = file.infolist()
            # arrays are stored uncompressed, so together they cannot be larger than the file
            strange = any(m.compress_type != zipfile.ZIP_STORED or not m.filename.endswith(".npy") for m in members)
            if strange or sum(m.file_size for m in members) > path.stat().st_size:
                raise UnreadableModel(f"{path}: not a variegate model (it contains more than plain arrays).")
            for member in members:
                _check_header(file, member, path)
            damaged = file.testzip()
            if damaged:
                raise UnreadableModel(f"{path}: damaged ({damaged} fails its checksum); copy it again.")
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except UnreadableModel:
        raise
    except OSError:
        raise
    except Exception as error:  # zipfile and numpy raise many types for damaged files
        raise UnreadableModel(f"{path}: not a variegate model, or truncated ({error}).") from error
    odd = [name for name, array in found.items() if array.dtype.kind not in PLAIN]
    if odd:
        raise UnreadableModel(
            f"{path}: not a variegate model (array {odd[0]!r} holds neither plain numbers nor text)."
        )
    return found
