"""Which files a command reads, and whether it may replace others."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from ..writing import occupied
from .messages import Failure, is_terminal
from .options import config_file


def inputs_of(files: Iterable[str | None]) -> list[Path]:
    """Return the files that a command reads: those given, its config, and .bim and .fam beside a .bed."""
    given = [Path(name) for name in (*files, config_file()) if name]
    genotypes = [path for path in given if path.suffix.lower() == ".bed"]
    return given + [path.with_suffix(end) for path in genotypes for end in (".bim", ".fam")]


def may_replace(out: Path, overwrite: bool) -> bool:
    """Ask before results are replaced if stdin and stderr are a terminal; else it takes --overwrite."""
    what = None if overwrite else occupied(out)
    if what is None:
        return overwrite
    if not (is_terminal(sys.stderr) and is_terminal(sys.stdin)):
        raise click.UsageError(f"{what}: give --overwrite to replace the results in it, or another --out")
    if not click.confirm(f"{what}. Replace the results in it?", err=True):
        raise Failure("nothing was written")
    return True
