"""Messages on stderr, and failures as one line and an exit code."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..messages import Argument, Message, brief

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
        warning = {"kind": category.__name__, "text": told(message)}
        if issubclass(category, UserWarning) and warning not in heard:
            heard.append(warning)
            say(f"warning: {warning['text']}", quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield heard


# options whose names differ from the argument's
_OPTIONS = {"n_features_to_select": "--size", "drop": "--exclude", "n_jobs": "--jobs"}


def as_option(argument: Argument) -> str:
    """Return the command-line option for a library argument.

    >>> as_option(Argument("missing", "impute")), as_option(Argument("drop", ["a b"]))
    ('--missing impute', "--exclude 'a b'")
    """
    option = _OPTIONS.get(argument.name, f"--{argument.name.replace('_', '-')}")
    if not _has(option):
        return f"{argument} (in Python; there is no such option)"
    if argument.value is None or argument.value is True:
        return option
    names = isinstance(argument.value, list)  # separated by commas; a comma inside a name is doubled
    value = ",".join(name.replace(",", ",,") for name in argument.value) if names else str(argument.value)
    return f"{option} {shlex.quote(value)}"


def _has(option: str) -> bool:
    """Whether the running command has this option; if none is running, whether any command has it."""
    from .main import cli

    context = click.get_current_context(silent=True)
    commands = [context.command] if context else cli.commands.values()
    return any(option in parameter.opts for command in commands for parameter in command.params)


def told(message: object) -> str:
    """Return the text of an error or warning in one line, with options in place of arguments."""
    said = message.args[0] if isinstance(message, Exception) and message.args else message
    return one_line(said.in_shell(as_option) if isinstance(said, Message) else str(message))


def explained(error: BaseException) -> str:
    """Describe an exception in one line; exceptions that the library does not raise on purpose are called bugs."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}"
    if isinstance(error, MemoryError):
        return "out of memory; use --screen to keep fewer columns"
    if isinstance(error, ValueError | ImportError | RuntimeError) and str(error):
        return told(error)
    return f"{type(error).__name__}: {error}. This is a bug; set VARIEGATE_DEBUG=1 for the traceback"


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; a closed stream is None."""
    return stream is not None and bool(stream.isatty())


def is_watched(quiet: bool) -> bool:
    """Whether to show progress."""
    return not quiet and is_terminal(sys.stderr)
