"""Copy the table of the peers from RESULTS.md into the README: python -m benchmarks.readme."""

import re
from pathlib import Path

from .measure import table

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(<!-- peers -->\n).*?(<!-- /peers -->)", re.DOTALL)
JUDGED = ["against ours", "averaged", "Σ(p−truth)²", "log det", "CPU s"]
COLUMNS = {"R²": ["R²", *JUDGED], "AUC": ["AUC", *JUDGED]}
ABSENT = "–"


def read_table(text: str, measure: str) -> dict[str, dict[str, str]]:
    """Rows of the selection table whose first column is `measure`: {method: {column: cell}}."""
    lines = text[text.index(f"|  | {measure} |") :].split("\n\n")[0].splitlines()
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def peers(results: str) -> str:
    """Both selection tables side by side, in the order of the first."""
    section = results[results.index("<!-- selection -->") :]
    tables = {measure: read_table(section, measure) for measure in COLUMNS}
    methods = list(dict.fromkeys(name for found in tables.values() for name in found))
    head = ["", *(column for columns in COLUMNS.values() for column in columns)]
    rows = [
        [name, *(tables[m].get(name, {}).get(column, ABSENT) for m, columns in COLUMNS.items() for column in columns)]
        for name in methods
    ]
    return table(head, rows) + "\n"


def updated(readme: str, results: str) -> str:
    """The README with the table from RESULTS.md."""
    return MARKED.sub(lambda found: found[1] + peers(results) + found[2], readme)


def main() -> None:
    path, results = ROOT / "README.md", ROOT / "benchmarks" / "RESULTS.md"
    path.write_text(updated(path.read_text(encoding="utf-8"), results.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
