"""What is said on stderr, and how failures become one line and an exit code."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


class Failure(click.ClickException):
    """Something went wrong that the user can understand; exit code 1."""

    exit_code = FAILED


def say(text: str, quiet: bool = False) -> None:
    """Tell how things go, on stderr."""
    if not quiet:
        click.echo(f"variegate: {text}", err=True)


def fail(text: str) -> None:
    """The last line of a command that failed."""
    click.echo(f"variegate: error: {one_line(text)}", err=True)


def one_line(text: str) -> str:
    """Any message as a single line, without control characters that would play with a terminal.

    >>> one_line("a" + chr(10) + "  b" + chr(27) + "[31m")
    'a b?[31m'
    """
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", " ".join(text.split()))


@contextmanager
def heard_warnings(quiet: bool) -> Iterator[list[str]]:
    """Collect what the library warns of, each once, and show it as it comes; deprecations are not for users."""
    heard: list[str] = []

    def show(message: Any, category: Any, *_: Any, **__: Any) -> None:
        text = as_options(one_line(str(message)))
        if issubclass(category, UserWarning) and text not in heard:
            heard.append(text)
            say(f"warning: {text}", quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield heard


# the library speaks of Python's arguments; here the same things are options
_ARGUMENTS = {
    "n_features_to_select": "--size",
    "expected_size": "--expected-size",
    "always_include": "--always-include",
    "max_iter": "--max-iter",
    "outcome_table": "--outcome-table",
    "outcome_id": "--outcome-id",
    "outcome": "--outcome",
    "id_column": "--id-column",
    "missing": "--missing",
    "categorical": "--categorical",
    "drop": "--exclude",
    "delimiter": "--delimiter",
    "samples": "--samples",
    "task": "--task",
    "screen": "--screen",
    "size": "--size",
    "n_jobs": "--jobs",
    "test_size": "--test-size",
}
# and these are files and commands, or nothing that a command leaves behind
_WORDS = {
    "predict() averages": "`variegate predict` averages",
    "inclusion_probabilities_": "the probabilities in selection.csv",
    "Give a size": "Give --size",
    " or a larger error (tol)": "",
    "; see .failures": "",
    "; see .selections": "",
}
_TOLERANCE = re.compile(r" \(tol, now [^)]*\)")
_PYTHON_ONLY = re.compile(r"\b(header|columns|ignore_case|rank)=")
_VALUE = r"""(?P<value>\[?(?:'[^']*'|"[^"]*")\]?)?"""
_GIVEN = re.compile(rf"\b(?P<name>{'|'.join(_ARGUMENTS)})=(?!=){_VALUE}")
_NAMED = re.compile(rf"\b(?P<name>{'|'.join(name for name in _ARGUMENTS if '_' in name)})\b(?!=)")


def as_options(text: str) -> str:
    """A message of the library with its arguments as options.

    >>> as_options("choose missing='drop_samples' or 'impute', or drop=['a b']")
    "choose --missing drop_samples or 'impute', or --exclude 'a b'"
    >>> as_options("give n_features_to_select")
    'give --size'
    >>> as_options("give rank= or a larger bandwidth")
    'give rank= or a larger bandwidth (in Python; there is no such option)'
    """

    def given(found: re.Match[str]) -> str:
        value = (found["value"] or "").strip("[]")
        plain = value[1:-1] if re.fullmatch(r"['\"][\w.-]+['\"]", value) else value
        return f"{_ARGUMENTS[found['name']]} {plain}".rstrip()

    text = text.replace("must be None or ", "must be ")  # no option, no None
    text = _TOLERANCE.sub("", text)
    for words, here in _WORDS.items():
        text = text.replace(words, here)
    if _PYTHON_ONLY.search(text):
        text = f"{text.rstrip('.')} (in Python; there is no such option)"
    return _NAMED.sub(lambda found: _ARGUMENTS[found["name"]], _GIVEN.sub(given, text))


def explained(error: BaseException) -> str:
    """One line for an exception; what the library does not raise on purpose is a bug, and says how to see more."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}"
    if isinstance(error, MemoryError):
        return "out of memory; --screen keeps fewer columns"
    if isinstance(error, ValueError | ImportError | RuntimeError) and str(error):
        return as_options(str(error))
    return f"{type(error).__name__}: {error}. This is a bug; VARIEGATE_DEBUG=1 shows where it happened"


def is_terminal(stream: Any) -> bool:
    """Whether somebody watches, or can answer; a stream that was closed is None."""
    return stream is not None and bool(stream.isatty())


def is_watched(quiet: bool) -> bool:
    """Whether to show progress."""
    return not quiet and is_terminal(sys.stderr)
