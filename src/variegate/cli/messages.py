"""Messages on stderr, and failures as one line and an exit code."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..messages import brief

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
LONGEST = 2000  # characters in a message


class Failure(click.ClickException):
    """A failure that the message explains to the user; exit code 1."""

    exit_code = FAILED


def say(text: str, quiet: bool = False) -> None:
    """Write a progress message to stderr."""
    if not quiet:
        click.echo(f"variegate: {one_line(text)}", err=True)


def fail(text: str) -> None:
    """Write the last line of a failed command to stderr."""
    click.echo(f"variegate: error: {one_line(text)}", err=True)


def one_line(text: str) -> str:
    """Join a message into one line and replace control characters, which could change the terminal.

    >>> one_line("a" + chr(10) + "  b" + chr(27) + "[31m")
    'a b?[31m'
    """
    plain = brief(re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", " ".join(text.split())))
    half = LONGEST // 2  # keep both ends: the problem comes first, the fix last
    return plain if len(plain) <= LONGEST else f"{plain[:half]} … {plain[-half:]}"


@contextmanager
def heard_warnings(quiet: bool) -> Iterator[list[dict[str, str]]]:
    """Show each UserWarning once and collect it as {kind, text}; ignore other warnings."""
    heard: list[dict[str, str]] = []

    def show(message: Any, category: Any, *_: Any, **__: Any) -> None:
        warning = {"kind": category.__name__, "text": one_line(str(message))}
        if issubclass(category, UserWarning) and warning not in heard:
            heard.append(warning)
            say(f"warning: {warning['text']}", quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield heard


def explained(error: BaseException) -> str:
    """Describe an exception in one line; exceptions that the library does not raise on purpose are called bugs."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}"
    if isinstance(error, MemoryError):
        return "out of memory; use --screen to keep fewer columns"
    if isinstance(error, ValueError | ImportError | RuntimeError | TimeoutError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}. This is a bug; set VARIEGATE_DEBUG=1 for the traceback"


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; a closed stream is None."""
    return stream is not None and bool(stream.isatty())


def is_watched(quiet: bool) -> bool:
    """Whether to show progress."""
    return not quiet and is_terminal(sys.stderr)
