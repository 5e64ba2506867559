"""Pages in Markdown, and how their code is run.

```python and ```bash blocks of a page run one after the other, in one namespace and one empty folder. An ```output
block holds what the block before it prints. ```console blocks are not run: they install something or take minutes, and
may call only pip and targets of the Makefile.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RUN = {"python", "bash"}
SHOWN = {"output", "console", "text", "toml", "bibtex"}
FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    body: str
    line: int


def pages() -> list[Path]:
    """README, CONTRIBUTING and all written pages of the site."""
    written = [path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "gallery"} & set(path.parts)]
    generated = ROOT / "docs" / "errors.md"
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(path for path in written if path != generated)]


def blocks(text: str) -> list[Block]:
    """Fenced blocks in order; those of directives, {…}, are left out."""
    found = [Block(m["language"].strip(), m["body"], text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)]
    return [block for block in found if not block.language.startswith("{")]


def run_page(text: str, name: str, folder: Path) -> dict:
    """Run a page in `folder`, the working directory, checking its outputs; returns the namespace."""
    space, printed = {"__name__": "__main__"}, ""
    for block in blocks(text):
        where = f"{name}, line {block.line}"
        if block.language == "python":
            printed = _python(block.body, space, where)
        elif block.language == "bash":
            printed = run_bash(block.body, where, folder)
        elif block.language == "output":
            assert _plain(printed) == _plain(block.body), f"{where}: the code prints\n{printed}"
    return space


def _plain(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _python(code: str, space: dict, where: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, where, "exec"), space)
    return said.getvalue()


def run_bash(code: str, where: str, folder: Path) -> str:
    """Run a block of shell in `folder`; returns what it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, f"{where}: {done.stderr}"
    return done.stdout
