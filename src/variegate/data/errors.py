"""How reading fails: one error and one warning, both meant for people who did not write the reader."""

from __future__ import annotations

import importlib
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


def optional(module: str, extra: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f'reading this needs the package {module}: run pip install "variegate[{extra}]"'
        raise ImportError(message) from None
