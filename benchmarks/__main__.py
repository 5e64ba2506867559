"""Run benchmarks, print their tables and write them to RESULTS.md: python -m benchmarks [name ...]."""

import argparse
import importlib
import re
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
NAMES = [
    "posterior",
    "tables",
    "panels",
    "cohorts",
    "groups",
    "survival",
    "diversity",
    "dpp",
    "inference",
    "reading",
    "large",
    "similarity",
    "selection",
    "report",
]
PREFACE = "# Benchmarks\n\nPrinted by `make bench` (one part: `python -m benchmarks NAME`), latest run.\n"


def keep(name: str, text: str) -> None:
    """Replace one part of RESULTS.md."""
    found = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else PREFACE
    parts = dict(re.findall(r"<!-- (\w+) -->\n(.*?)(?=\n<!-- |\Z)", found, flags=re.DOTALL))
    parts[name] = text.strip() + "\n"
    body = "".join(f"\n<!-- {key} -->\n{parts[key].strip()}\n" for key in NAMES if key in parts)
    RESULTS.write_text(PREFACE + body, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(NAMES)}; default: all")
    wanted = parser.parse_args().names or NAMES
    unknown = set(wanted) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for name in wanted:
        text = importlib.import_module(f"benchmarks.{name}").main()
        print(text, flush=True)
        keep(name, text)


if __name__ == "__main__":
    main()
