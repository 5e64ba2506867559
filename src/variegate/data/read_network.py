"""One door for all network files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .biogrid import is_biogrid, read_biogrid
from .edge_lists import read_edges
from .errors import UnreadableInput
from .graphml import read_graphml
from .network import Network
from .string_db import is_string, read_string
from .text import first_line, read_text


def read_network(path: str | Path, **options: Any) -> Network:
    """Read a network file of any known format, told apart by its first line.

    BioGRID TAB2/TAB3, STRING links, GraphML, and plain edge lists (CSV, TSV, spaces); each possibly gzipped.
    Further options go to that format's reader: `read_biogrid`, `read_string`, `read_graphml`, `read_edges`.
    """
    text = read_text(path)
    line = first_line(text).strip()
    if is_biogrid(line):
        return read_biogrid(path, **options)
    if is_string(line):
        return read_string(path, **options)
    if line.startswith("<"):
        return read_graphml(path, **options)
    if line.startswith("#"):
        below = next((ln for ln in map(str.strip, text.splitlines()) if ln and not ln.startswith("# ")), "")
        if is_biogrid(below) or is_string(below):
            raise UnreadableInput(f"{path}: comment lines stand above the header of this format; remove them")
    return read_edges(path, **options)
