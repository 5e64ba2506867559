"""The file of a model: a zip of uncompressed .npy arrays, read without trust."""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = "fiubUSmMV"  # kinds of arrays that a file may hold: numbers, fixed-width text, dates, rows of fields


class UnreadableModel(ValueError):
    """The file is no model of ours, is damaged, or comes from a newer version.

    >>> issubclass(UnreadableModel, ValueError)
    True
    """


def _check_header(file: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    """Refuse an array that would ask for more memory than it has bytes in the file."""
    with file.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = read(stream)
        if math.prod(shape) * kind.itemsize != member.file_size - stream.tell() or (kind.itemsize == 0):
            raise UnreadableModel(f"{path}: not a variegate model (array {member.filename!r} is not what it says).")


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of a file, by name; whatever is no such file is refused."""
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
