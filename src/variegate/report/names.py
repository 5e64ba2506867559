"""Sanitise user-supplied names."""

import unicodedata
from typing import Any

from markupsafe import Markup, escape

# characters that change the direction of the text after them
TURNS = {chr(c) for c in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
SPACES = str.maketrans("\t\n\r", "   ")
SHOWN = 48  # characters of a name on the page; exported data have all of them
HINT = 300  # characters in the tooltip


def clean(name: Any) -> str:
    """Replace characters that change how the surrounding text is read, or that no file can hold."""
    text = str(name).translate(SPACES)
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_unsafe(c) else c for c in text)


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in TURNS


def shortened(name: Any, limit: int = SHOWN) -> str:
    """Return the beginning and the end of a long name.

    >>> shortened("abcdefghijkl", 9)
    'abcde…jkl'
    """
    text = clean(name) or "(no name)"
    end = (limit - 1) * 3 // 8
    return text if len(text) <= limit else f"{text[: limit - 1 - end]}…{text[-end:]}"


def tag(name: Any, limit: int = SHOWN) -> Markup:
    """Return the HTML of a name: isolated from the surrounding text's direction, with a tooltip if shortened."""
    text = shortened(name, limit)
    hint = Markup(' title="{}"').format(shortened(name, HINT)) if len(str(name)) > limit else Markup("")
    return Markup("<bdi{}>{}</bdi>").format(hint, escape(text))
