"""Write outputs completely or not at all: first to a temporary place, then move them."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from ..writing import umask, whole_file
from .messages import Failure, is_terminal

INPUTS = ("table", "model", "outcome_table", "network", "coordinates", "groups", "costs")  # options that name files


def inputs_of(options: Mapping[str, Any]) -> list[Path]:
    """Return the files that a command reads: those in its options, its config, and .bim and .fam beside a .bed."""
    context = click.get_current_context(silent=True)
    config = context.meta.get("variegate.config") if context else None
    given = [Path(str(name)) for name in (*map(options.get, INPUTS), config) if name]
    genotypes = [path for path in given if path.suffix.lower() == ".bed"]
    return given + [path.with_suffix(end) for path in genotypes for end in (".bim", ".fam")]


def _check_apart(outputs: Collection[Path], inputs: Collection[Path]) -> None:
    """Refuse to overwrite an input, or a file inside an input folder, even with --overwrite."""
    read = [path.resolve() for path in inputs if path.exists()]
    for out in outputs:
        for path in read:
            if path in out.resolve().parents:
                raise Failure(f"cannot write {out}: it is inside an input, {path}; give another --out")
            if out.is_file() and out.samefile(path):  # also through a link, symbolic or hard
                raise Failure(f"cannot write {out}: it is also an input; give another --out")


@contextmanager
def new_folder(out: Path, names: Collection[str], overwrite: bool, inputs: Collection[Path]) -> Iterator[Path]:
    """Yield a temporary folder next to `out`; at the end its files move to `out`, on any failure it is deleted.

    `inputs` are files that the run reads, which are never replaced.
    `names` are all files that a run may write: those left by an earlier run and not written by this one are deleted.
    Other files in `out` are kept. Temporary folders of killed runs are deleted, too.
    """
    _check_apart([out / name for name in names], inputs)
    present, new = [name for name in names if (out / name).exists()], not out.exists()
    if present or (out.is_dir() and any(out.iterdir())):
        _allowed(f"The folder {out} is not empty", overwrite)
    if out.exists() and not out.is_dir():
        raise Failure(f"cannot write {out}: it is a file; give a folder")
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
                raise Failure(f"another run created {out} in the meantime; nothing was written; give another --out")
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
        raise Failure(f"cannot write {out}: it is a link to {os.readlink(out)}, which does not exist; remove the link")


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Report a full disk or an unwritable place in one line."""
    try:
        yield
    except OSError as error:
        raise Failure(
            f"cannot write {out}: {error.strerror or str(error).rstrip('.')}; nothing was written"
        ) from error


def _check_files(out: Path, names: Collection[str]) -> None:
    """Refuse to replace a folder that has the name of one of our files."""
    for name in names:
        if (out / name).is_dir():
            raise Failure(
                f"cannot write {out / name}: it is a folder; nothing was written; move it, or give another --out"
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
def new_file(path: Path, overwrite: bool, inputs: Collection[Path]) -> Iterator[Path]:
    """Yield a temporary file next to `path`, which replaces `path` at the end; `inputs` are never replaced."""
    _check_apart([path], inputs)
    if path.is_dir():
        raise Failure(f"cannot write {path}: it is a folder; give a file")
    if path.is_file():  # writing to a pipe or a device overwrites nothing
        _allowed(f"The file {path} exists", overwrite)
    with ExitStack() as stack:  # an error of the work is no error of writing
        with writing(path):
            beside = stack.enter_context(whole_file(path))
        yield beside
        with writing(path):
            stack.close()


def _allowed(what: str, overwrite: bool) -> None:
    """Ask before overwriting if stdin and stderr are a terminal; otherwise require --overwrite."""
    if overwrite:
        return
    if is_terminal(sys.stderr) and is_terminal(sys.stdin):
        if not click.confirm(f"{what}. Replace the results in it?", err=True):
            raise Failure("nothing was written")
        return
    raise click.UsageError(f"{what}: give --overwrite to replace the results in it, or another --out")


def fingerprint(path: str | Path) -> str | None:
    """Return the SHA-256 of a file as "sha256:…", or None for a pipe, which can be read only once."""
    if not Path(path).is_file():
        return None
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"
