"""Words in messages."""

from __future__ import annotations

import re

_LONG_NAME = re.compile(r"([^\s/,]{100})[^\s/,]{200,}([^\s/,]{2})")  # paths and lists of names to type stay whole


def brief(text: str) -> str:
    """Text with words of hundreds of letters shortened: names in files can have any length.

    >>> len(brief("no column " + "x" * 100_000 + "; check the name"))
    128
    """
    return _LONG_NAME.sub(r"\1…\2", text) if len(text) > 300 else text


def counted(n: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "feature"), counted(1200, "feature")
    ('1 feature', '1,200 features')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
