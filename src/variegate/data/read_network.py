"""Read any network file by its format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .biogrid import is_biogrid, read_biogrid
from .edge_lists import read_edges
from .graphml import read_graphml
from .network import Network
from .string_db import is_string, read_string
from .text import Loaded, first_line, read_text, without_comments


def read_network(path: str | Path, **options: Any) -> Network:
    r"""Read a network file of any known format, recognised by its first line.

    BioGRID TAB2/TAB3, STRING links, GraphML, and plain edge lists (CSV, TSV, spaces); each possibly gzipped.
    Options are passed to the reader of that format: `read_biogrid`, `read_string`, `read_graphml`, `read_edges`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.tsv")
    ...     _ = path.write_text('gene_a\tgene_b\nTP53\tMDM2\n')
    ...     read_network(path).n_edges
    1
    """
    file: Any = Loaded(path, read_text(path))
    line = first_line(without_comments(file.text, _is_official)).strip()
    if is_biogrid(line):
        return read_biogrid(file, **options)
    if is_string(line):
        return read_string(file, **options)
    if line.startswith("<"):
        return read_graphml(file, **options)
    return read_edges(file, **options)


def _is_official(line: str) -> bool:
    return is_biogrid(line) or is_string(line)
