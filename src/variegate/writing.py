"""Files that are either complete or absent: written under a temporary name, then moved."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield an empty temporary file beside `path`, which replaces it at the end; on any failure it is deleted.

    If `path` is a pipe or a device, the content is written into it at the end.
    """
    if path.exists() and not path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            beside = Path(folder, path.name)
            beside.touch()
            yield beside
            with open(beside, "rb") as content, open(path, "wb") as into:
                shutil.copyfileobj(content, into)
        return
    path = path.resolve()  # follows a link: its target is replaced, the link is kept
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into; create it first.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".variegate-")
    try:
        yield Path(name)
        os.fsync(handle)  # otherwise a power cut could leave an empty file with the new name
        os.chmod(name, 0o666 & ~umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    finally:
        os.close(handle)


def write_whole(path: Path, write: Callable[[Any], object]) -> None:
    """Write a binary file that is either complete or absent.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "greeting"), lambda file: file.write(b"hello"))
    ...     Path(folder, "greeting").read_text()
    'hello'
    """
    with whole_file(path) as beside, open(beside, "wb") as file:
        write(file)


def umask() -> int:
    """The umask: permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
