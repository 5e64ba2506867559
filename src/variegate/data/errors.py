"""Errors and warnings of the readers."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from ..messages import brief


class UnreadableInput(ValueError):
    """A file or table cannot be read; the message names the file, the line, or the sample and column, and a fix.

    >>> issubclass(UnreadableInput, ValueError)
    True
    """

    def __init__(self, said: str) -> None:
        super().__init__(brief(said))


class MissingValues(UnreadableInput):
    """Values are missing; `outcomes` names the outcomes among the columns concerned.

    >>> MissingValues("expected no missing values", ["days"]).outcomes
    ('days',)
    """

    def __init__(self, said: str, outcomes: Iterable[str] = ()) -> None:
        super().__init__(said)
        self.outcomes = tuple(outcomes)


class DataWarning(UserWarning):
    """The data could be read, but look odd.

    >>> issubclass(DataWarning, UserWarning)
    True
    """


def did_you_mean(name: str, known: Iterable[Any]) -> str:
    """Return the end of a message that suggests similar names, or "" if there are none.

    >>> did_you_mean("tp53", ["TP53", "MDM2"])
    "; did you mean 'TP53'?"
    """
    names = {str(other).casefold(): str(other) for other in known}
    close = [names[other] for other in get_close_matches(name.casefold(), names, n=3)]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def in_brief(error: Exception) -> str:
    """Return type and text of an error in one line of at most 120 letters or so.

    >>> in_brief(ValueError("no number"))
    'ValueError: no number'
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) <= 120 else text[:119] + '…'}"


def optional(module: str, extra: str) -> Any:
    """Import an optional package, or say which extra installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f'reading this needs the package {module}: run pip install "variegate[{extra}]"'
        raise ImportError(message) from None
