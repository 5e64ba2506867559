"""Files and folders that are either complete or absent: written under a temporary name, then moved."""

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np


class CannotWrite(ValueError):
    """A result cannot be written to its place."""


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


def occupied(out: Path) -> str | None:
    """Return what is in the way: a folder that is not empty, or a file; a pipe or a device overwrites nothing."""
    if out.is_dir() and any(out.iterdir()):
        return f"The folder {out} is not empty"
    return f"The file {out} exists" if out.is_file() else None


def _check_free(out: Path) -> None:
    if what := occupied(out):
        raise FileExistsError(f"{what}: set overwrite to replace the results in it, or choose another place.")


def _check_apart(outputs: Collection[Path], inputs: Collection[Path]) -> None:
    """Refuse to overwrite an input, or a file inside an input folder, even with --overwrite."""
    read = [path.resolve() for path in inputs if path.exists()]
    for out in outputs:
        for path in read:
            if path in out.resolve().parents:
                raise CannotWrite(f"cannot write {out}: it is inside an input, {path}; choose another place")
            if out.is_file() and out.samefile(path):  # also through a link, symbolic or hard
                raise CannotWrite(f"cannot write {out}: it is also an input; choose another place")


@contextmanager
def new_folder(out: Path, names: Collection[str], overwrite: bool, inputs: Collection[Path] = ()) -> Iterator[Path]:
    """Yield a temporary folder next to `out`; at the end its files move to `out`, on any failure it is deleted.

    `inputs` are files that the run reads, which are never replaced.
    `names` are all files that a run may write: those left by an earlier run and not written by this one are deleted.
    Other files in `out` are kept. Temporary folders of killed runs are deleted, too.
    """
    _check_apart([out / name for name in names], inputs)
    if out.exists() and not out.is_dir():
        raise CannotWrite(f"cannot write {out}: it is a file; give a folder")
    new = not out.exists()
    if not overwrite:
        _check_free(out)
    _check_link(out)
    _check_files(out, names)
    missing = [parent for parent in out.parents if not parent.exists()]
    try:
        with writing(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            place = out if out.is_dir() else out.parent  # on the same disk, so that files are renamed, not copied
            _clean(place, out.name)
            work = Path(tempfile.mkdtemp(prefix=_prefix(out.name, os.getpid()), dir=place))
        try:
            yield work
            if new and out.exists() and not overwrite:
                raise CannotWrite(
                    f"another run created {out} in the meantime; nothing was written; choose another place"
                )
            _check_files(out, names)
            with writing(out):
                _move(work, out, names)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    finally:
        for parent in missing if not out.exists() else ():
            with suppress(OSError):
                parent.rmdir()


def _check_link(out: Path) -> None:
    if out.is_symlink() and not out.exists():
        raise CannotWrite(
            f"cannot write {out}: it is a link to {os.readlink(out)}, which does not exist; remove the link"
        )


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Report a full disk or an unwritable place in one line."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(
            f"cannot write {out}: {error.strerror or str(error).rstrip('.')}; nothing was written"
        ) from error


def _check_files(out: Path, names: Collection[str]) -> None:
    """Refuse to replace a folder that has the name of one of our files."""
    for name in names:
        if (out / name).is_dir():
            raise CannotWrite(
                f"cannot write {out / name}: it is a folder; nothing was written; move it, or choose another place"
            )


def _prefix(name: str, pid: int | str) -> str:
    """Return how the temporary folder of a process on this host begins; random characters without a dot follow."""
    host = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
    return f".{name}.variegate-{host}-{pid}-"


def _clean(place: Path, name: str) -> None:
    """Delete the temporary folders of runs on this host that were killed while they wrote `name`."""
    ours = re.compile(re.escape(_prefix(name, "PID")).replace("PID", "([0-9]+)") + "[a-z0-9_]+")
    for left in place.glob(".*.variegate-*"):
        found = ours.fullmatch(left.name)
        if found and left.is_dir() and not _runs(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and is somebody else's
        pass
    return True


def _move(work: Path, out: Path, names: Collection[str]) -> None:
    """Move all files or none: if one cannot be moved, restore what was there."""
    made = sorted(path.name for path in work.iterdir())
    if not out.exists():
        os.chmod(work, 0o777 & ~umask())
        os.rename(work, out)
        return
    before = Path(tempfile.mkdtemp(dir=work))
    moved: list[str] = []
    try:
        for name in sorted({*names, *made}):
            if (out / name).exists() or (out / name).is_symlink():
                os.replace(out / name, before / name)
            moved.append(name)
            if name in made:
                os.replace(work / name, out / name)
    except OSError:
        for name in moved:
            (out / name).unlink(missing_ok=True)
            if (before / name).exists():
                os.replace(before / name, out / name)
        raise


@contextmanager
def new_file(path: Path, overwrite: bool, inputs: Collection[Path] = ()) -> Iterator[Path]:
    """Yield a temporary file next to `path`, which replaces `path` at the end; `inputs` are never replaced."""
    _check_apart([path], inputs)
    if path.is_dir():
        raise CannotWrite(f"cannot write {path}: it is a folder; give a file")
    if not overwrite:
        _check_free(path)
    with ExitStack() as stack:  # an error of the work is no error of writing
        with writing(path):
            beside = stack.enter_context(whole_file(path))
        yield beside
        with writing(path):
            stack.close()


def fingerprint(path: str | Path) -> str | None:
    """Return the SHA-256 of a file as "sha256:…", or None for a pipe, which can be read only once."""
    if not Path(path).is_file():
        return None
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"


def as_json(value: Any) -> str:
    """Serialise to strict JSON; non-finite numbers become null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
