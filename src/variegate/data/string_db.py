"""STRING files: protein links, with aliases or info for names."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .columns import export_rows
from .errors import UnreadableInput
from .network import Network, network_from_edges, unambiguous
from .text import find_delimiter, first_line, read_text, shortened, without_comments


def is_string(line: str) -> bool:
    """Whether the line is a header of STRING's links."""
    return [cell.strip("#\"' ") for cell in line.split()][:2] == ["protein1", "protein2"]


def read_string(links: str | Path, aliases: str | Path | None = None, *, min_score: int = 400) -> Network:
    r"""Read STRING protein links with a combined score of at least `min_score`.

    Parameters
    ----------
    links : `….protein.links.…txt`, possibly gzipped (also the detailed and full files)
    aliases : `….protein.aliases.…txt` or `….protein.info.…txt`: other names of the proteins, so that
        features can be gene symbols; names that several proteins share are left out
    min_score : 0 to 1000; STRING calls 150 low, 400 medium, 700 high, 900 highest confidence

    Nodes are STRING ids such as 9606.ENSP00000269305; the id without the organism is always an alias.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "links.txt")
    ...     _ = path.write_text('protein1 protein2 combined_score\n9606.P1 9606.P2 800\n9606.P1 9606.P3 200\n')
    ...     read_string(path).names
    ('9606.P1', '9606.P2')
    """
    if isinstance(min_score, bool | str) or not 0 <= min_score <= 1000 or 0 < min_score < 1:
        raise ValueError(f"min_score must be from 0 to 1000 (such as 400, not 0.4), got {min_score!r}")
    rows = _links(links, read_text(links))
    if not len(rows):
        raise UnreadableInput(f"{links}: expected links, got a header and nothing below it; download it again")
    rows = rows[rows.score >= min_score]
    if not len(rows):
        raise UnreadableInput(
            f"{links}: expected links with a score of at least {min_score}, found none; give a smaller min_score="
        )
    nodes = pd.unique(pd.concat([rows.a, rows.b]))
    pairs = [(node.partition(".")[2], node) for node in nodes]
    if aliases is not None:
        pairs += _aliases(aliases, read_text(aliases), set(nodes))
    return network_from_edges(rows.a.to_numpy(object), rows.b.to_numpy(object), unambiguous(pairs))


def _links(path: str | Path, text: str) -> pd.DataFrame:
    text = without_comments(text, is_string)
    header = first_line(text)
    titles = [cell.strip("#\"' ") for cell in header.split()]
    if not is_string(header) or "combined_score" not in titles:
        raise UnreadableInput(
            f"{path}: expected STRING's protein links, with the columns protein1, protein2 and combined_score, "
            f"got '{shortened(header)}'; for a plain edge list use read_edges"
        )
    delimiter = find_delimiter(path, text)
    columns = {"a": 0, "b": 1, "score": titles.index("combined_score")}
    rows = export_rows(path, text, delimiter, columns, filled=list(columns))
    score = pd.to_numeric(rows.score, errors="coerce")
    if score.isna().any():
        row = int(score.isna().to_numpy().argmax())
        link = " ".join(map(shortened, rows.iloc[row]))
        raise UnreadableInput(f"{path}: expected a number as combined_score, got '{link}'; correct or delete the line")
    return rows.assign(score=score)


def _names_proteins(line: str) -> bool:
    return line.lstrip("#\"' ").startswith(("string_protein_id", "protein_external_id"))


def _aliases(path: str | Path, text: str, nodes: set[str]) -> list[tuple[str, str]]:
    text = without_comments(text, _names_proteins)
    header = first_line(text)
    if not _names_proteins(header) or header.count("\t") < 2:
        raise UnreadableInput(
            f"{path}: expected STRING's aliases or info, whose header starts with '#string_protein_id' and has at "
            f"least three tab-separated columns, got '{shortened(header)}'; download the file again"
        )
    # an alias may be blank, but short lines are errors
    rows = export_rows(path, text, "\t", {"node": 0, "alias": 1, "source": 2}, filled=("node", "source"))
    rows = rows[rows.node.isin(nodes)]
    return list(zip(rows.alias, rows.node, strict=True))
