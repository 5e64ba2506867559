"""How reading fails: one error and one warning, both meant for people who did not write the reader."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class UnreadableInput(ValueError):
    """A file or table is not what was expected; the message names file, line or column, and a way out.

    >>> issubclass(UnreadableInput, ValueError)
    True
    """


class DataWarning(UserWarning):
    """Something in the data that a user should know, though it could be read.

    >>> issubclass(DataWarning, UserWarning)
    True
    """


def did_you_mean(name: str, known: Iterable[Any]) -> str:
    """A question with the names that are spelt nearly like this one, to end a message; "" if there are none.

    >>> did_you_mean("tp53", ["TP53", "MDM2"])
    "; did you mean 'TP53'?"
    """
    names = {str(other).casefold(): str(other) for other in known}
    close = [names[other] for other in get_close_matches(name.casefold(), names, n=3)]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def optional(module: str, extra: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f'reading this needs the package {module}: run pip install "variegate[{extra}]"'
        raise ImportError(message) from None
