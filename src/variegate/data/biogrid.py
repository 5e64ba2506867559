"""BioGRID TAB2 and TAB3 files."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd

from .columns import export_rows
from .errors import DataWarning, UnreadableInput
from .network import Network, network_from_edges, one_spelling, unambiguous
from .text import first_line, read_text, without_comments

_COLUMNS = {
    "entrez_a": ["entrez gene interactor a"],
    "entrez_b": ["entrez gene interactor b"],
    "symbol_a": ["official symbol interactor a"],
    "symbol_b": ["official symbol interactor b"],
    "synonyms_a": ["synonyms interactor a"],
    "synonyms_b": ["synonyms interactor b"],
    "type": ["experimental system type"],
    "organism_a": ["organism interactor a", "organism id interactor a"],
    "organism_b": ["organism interactor b", "organism id interactor b"],
}


def is_biogrid(line: str) -> bool:
    """Whether the line is a BioGRID header."""
    return line.lstrip("#\"' ").casefold().startswith("biogrid interaction id")


def read_biogrid(path: str | Path, *, organism: int = 9606, physical: bool = True, names: str = "symbol") -> Network:
    """Read a BioGRID TAB2 or TAB3 file: the interactions within one organism.

    Parameters
    ----------
    path : `BIOGRID-….tab2.txt` or `….tab3.txt`, possibly gzipped
    organism : NCBI taxonomy id of both partners; 9606 is human
    physical : keep physical interactions only; False keeps genetic ones too
    names : names of the nodes, "symbol" (official symbols; spellings that differ only in case are one node)
        or "entrez"; the other one and the synonyms become aliases

    >>> network = read_biogrid("BIOGRID-ALL-4.4.240.tab3.txt", organism=9606)  # doctest: +SKIP
    >>> network.locate(["TP53", "p53", "7157"])  # official symbol, synonym, Entrez id: one node  # doctest: +SKIP
    """
    if names not in ("symbol", "entrez"):
        raise ValueError(f'names must be "symbol" or "entrez", got {names!r}')
    if not isinstance(physical, bool):
        raise ValueError(f"physical must be True or False, got {physical!r}")
    rows = _interactions(path, read_text(path))
    if not len(rows):
        raise UnreadableInput(f"{path}: expected interactions, got a header and nothing below it; download it again")
    kept = rows[(rows.organism_a == str(organism)) & (rows.organism_b == str(organism))]
    if physical:
        kept = kept[kept.type.str.casefold() == "physical"]
    if not len(kept):
        present = rows.organism_a.value_counts().head(3).index.tolist()
        kind = "physical interactions" if physical else "interactions"
        raise UnreadableInput(
            f"{path}: expected {kind} of organism {organism}, found none in {len(rows)} rows; "
            f"the most common organisms are {', '.join(present) or 'none'}: give organism="
        )
    return _network(_named(path, kept, names), names)


def _interactions(path: str | Path, text: str) -> pd.DataFrame:
    text = without_comments(text, is_biogrid)
    header = first_line(text)
    if not is_biogrid(header):
        raise UnreadableInput(
            f"{path}: expected BioGRID's TAB2 or TAB3 format, whose header starts with '#BioGRID Interaction ID', "
            f"got '{header[:40]}'; for a plain edge list use read_edges"
        )
    titles = [title.strip("#\"' ").casefold() for title in header.split("\t")]
    positions = {}
    for name, choices in _COLUMNS.items():
        found = [titles.index(choice) for choice in choices if choice in titles]
        if not found:
            raise UnreadableInput(
                f"{path}: expected a column '{choices[-1]}' ({name}) in the header, found {len(titles)} others; "
                "check that the file is tab-separated and complete"
            )
        positions[name] = found[0]
    # BioGRID always fills these; a blank one means that the line is short or not tab-separated
    return export_rows(path, text, "\t", positions, filled=("type", "organism_a", "organism_b"))


def _named(path: str | Path, rows: pd.DataFrame, names: str) -> pd.DataFrame:
    """Return the rows in which both partners have the requested kind of name."""
    nameless = rows[f"{names}_a"].isin(["", "-"]) | rows[f"{names}_b"].isin(["", "-"])
    if nameless.all():
        raise UnreadableInput(f"{path}: expected partners with {names} names, found none; give the other names=")
    if nameless.any():
        warnings.warn(
            f"{path}: {int(nameless.sum())} of {len(rows)} interactions left out because a partner has no {names}",
            DataWarning,
            stacklevel=3,
        )
    return rows[~nameless]


def _network(rows: pd.DataFrame, names: str) -> Network:
    partners = pd.concat(
        [
            rows[[f"{c}_{side}" for c in ("entrez", "symbol", "synonyms")]].set_axis(
                ["entrez", "symbol", "synonyms"], axis=1
            )
            for side in "ab"
        ],
        ignore_index=True,
    )
    node = one_spelling(partners[names])
    once = partners.assign(node=node).drop_duplicates()
    other = once["entrez" if names == "symbol" else "symbol"]
    synonyms = once.synonyms.str.split("|")
    pairs = [*zip(other, once.node, strict=True)]
    pairs += [(alias.strip(), n) for some, n in zip(synonyms, once.node, strict=True) for alias in some]
    half = len(rows)
    return network_from_edges(node[:half].to_numpy(object), node[half:].to_numpy(object), unambiguous(pairs))
