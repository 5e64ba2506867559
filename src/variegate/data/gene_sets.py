"""Gene sets in GMT files: a name, a description, then members, separated by tabs."""

from __future__ import annotations

from pathlib import Path

from .errors import UnreadableInput
from .text import is_comment, read_text, shortened


def read_gene_sets(path: str | Path) -> dict[str, tuple[str, ...]]:
    r"""Read a GMT file: set name → members, in the file's order, each member once.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sets.gmt")
    ...     _ = path.write_text('REPAIR\tDNA repair\tBRCA1\tBRCA2\n')
    ...     read_gene_sets(path)
    {'REPAIR': ('BRCA1', 'BRCA2')}
    """
    sets: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or is_comment(line):
            continue
        name, *rest = (cell.strip().strip('"') for cell in line.split("\t"))
        members = tuple(dict.fromkeys(cell for cell in rest[1:] if cell))
        if not name or not members:
            raise UnreadableInput(
                f"{path}, line {number}: expected a set's name, a description and members, separated by tabs, "
                f"got '{shortened(line)}'; correct or delete the line"
            )
        if name in sets:
            raise UnreadableInput(f"{path}, line {number}: the set '{shortened(name)}' appears twice; rename one")
        sets[name] = members
    if not sets:
        raise UnreadableInput(f"{path}: expected gene sets, got only comments and blank lines")
    return sets
