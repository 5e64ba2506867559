"""Messages that name an argument in Python, and an option on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

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


@dataclass(frozen=True)
class Argument:
    """An argument in a message, optionally with a value.

    >>> str(Argument("missing", "impute")), str(Argument("max_iter"))
    ("missing='impute'", 'max_iter')
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


@dataclass(frozen=True)
class Words:
    """Text that differs between Python and the command line."""

    python: str
    shell: str = ""

    def __str__(self) -> str:
        return self.python


class Message(str):
    """A message for users of Python that can be reworded for the command line.

    >>> said = Message("values are missing; choose ", Argument("missing", "impute"))
    >>> said
    "values are missing; choose missing='impute'"
    >>> said.in_shell(lambda argument: f"--{argument.name} {argument.value}")
    'values are missing; choose --missing impute'
    """

    parts: tuple[str | Argument | Words, ...]

    def __new__(cls, *parts: str | Argument | Words) -> Self:
        """Join the parts."""
        said = super().__new__(cls, brief("".join(map(str, parts))))
        said.parts = parts
        return said

    def in_shell(self, as_option: Callable[[Argument], str]) -> str:
        """The message for users of the command line, where `as_option` names an argument."""
        said = [as_option(part) if isinstance(part, Argument) else part for part in self.parts]
        return "".join(part.shell if isinstance(part, Words) else part for part in said)
