"""The code that README and docs show runs, and prints what they say."""

import ast
import importlib
import re
import shlex
import sys

import numpy as np
import pytest
from benchmarks.readme import updated

from pages import ROOT, RUN, SHOWN, blocks, pages, run_page

sys.path.insert(0, str(ROOT / "docs"))
from error_list import text_of

PAGES = {str(path.relative_to(ROOT)): path for path in pages()}
MAKE_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
NOT_RUN = ([], ["pip"], ["git"], ["cd"], ["pre-commit"])


def warnings_of_the_source():
    """Texts of all warnings: arguments of `warn`, and literals that functions called `…messages` append or return."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn":
                texts = [text_of(node.args[0])]
            elif isinstance(node, ast.FunctionDef) and node.name.endswith("messages"):
                inside = list(ast.walk(node))
                calls = [n for n in inside if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "append"]
                lists = [n.value for n in inside if isinstance(n, ast.Return) and isinstance(n.value, ast.List)]
                texts = [text_of(call.args[0]) for call in calls]
                texts += [text_of(element) for found_list in lists for element in found_list.elts]
            else:
                continue
            found += [(str(path.relative_to(ROOT)), text) for text in texts if text]
    return found


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory, and pictures that need no screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


def with_code():
    return [name for name, path in PAGES.items() if any(b.language in RUN for b in blocks(path.read_text("utf-8")))]


@pytest.mark.real
@pytest.mark.parametrize("name", with_code())
def test_code_runs(name, here):
    from matplotlib import pyplot as plt

    space = run_page(PAGES[name].read_text(encoding="utf-8"), name, here)
    plt.close("all")
    if name == "README.md":
        check_readme(space)


def check_readme(space):
    """What its comments say is so."""
    kinds = space["dpp"].map(size=5) // 4
    assert sorted(kinds) == [0, 1, 2, 3, 4]
    assert (space["dpp"].condition(include=[0]).inclusion_prob()[:3] < 0.02).all()
    assert sorted(space["posterior"].map() // 4) == [0, 2]
    assert 0 not in space["posterior"].condition(exclude=[0]).map()


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_of_a_known_kind(name):
    for block in blocks(PAGES[name].read_text(encoding="utf-8")):
        assert block.language in RUN | SHOWN, f"{name}, line {block.line}: {block.language!r}"


@pytest.mark.parametrize("name", PAGES)
def test_console_blocks_call_what_there_is(name):
    for block in blocks(PAGES[name].read_text(encoding="utf-8")):
        for line in block.body.splitlines() if block.language == "console" else []:
            command = shlex.split(line, comments=True)
            if command[:1] == ["make"]:
                targets = {word for word in command[1:] if "=" not in word}
                assert targets <= MAKE_TARGETS, f"{name}, line {block.line}: {line}"
            else:
                assert command[:1] in NOT_RUN, f"{name}, line {block.line}: {line}"


class TestTheMechanism:
    def test_wrong_output_is_noticed(self, here):
        with pytest.raises(AssertionError, match="page, line 4"):
            run_page("```python\nprint(1)\n```\n```output\n2\n```\n", "page", here)

    def test_blocks_share_a_namespace_and_a_folder(self, here):
        text = """```bash
echo 3 > n.txt
```
```python
from pathlib import Path
n = int(Path("n.txt").read_text())
```
```python
print(n)
```
```output
3
```
"""
        assert run_page(text, "page", here)["n"] == 3

    def test_a_failing_command_is_noticed(self, here):
        with pytest.raises(AssertionError, match="page, line 1"):
            run_page("```bash\nfalse\ntrue\n```\n", "page", here)


class TestMessages:
    """Whoever is warned finds the warning on the page "It warned me"."""

    @staticmethod
    def key(text):
        """The longest stretch of a message that no input changes."""
        return max((" ".join(part.split()) for part in text.split("…")), key=len)

    @pytest.mark.parametrize(("where", "text"), warnings_of_the_source(), ids=lambda value: value[:40])
    def test_every_warning_has_an_entry(self, where, text):
        page = " ".join((ROOT / "docs/messages.md").read_text(encoding="utf-8").split())
        assert self.key(text) in page, f"{where}: docs/messages.md has no entry for: {text}"

    def test_the_source_was_found(self):
        found = warnings_of_the_source()
        assert len(found) >= 20
        assert sum(where.endswith("diagnostics.py") for where, _ in found) == 2


class TestPaper:
    """The functions and tests that the page on the paper names exist."""

    PAGE = (ROOT / "docs/paper.md").read_text(encoding="utf-8")

    @pytest.mark.parametrize("name", sorted(set(re.findall(r"`(variegate\.[\w.]+)`", PAGE))))
    def test_functions(self, name):
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)

    @pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", PAGE))))
    def test_tests(self, name):
        path, test = name.split("::")
        assert re.search(rf"^ *def {test}\(", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)


def script(name):
    """The names that a script beside the package defines."""
    path = ROOT / name
    space = {"__file__": str(path), "__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    return space


class TestReadme:
    """What it claims is what the scripts that it names print."""

    TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

    def test_the_table_is_that_of_the_benchmarks(self):
        results = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
        assert "| variegate, 20 |" in self.TEXT
        assert updated(self.TEXT, results) == self.TEXT, "run: python -m benchmarks.readme"

    def test_omp_is_as_good_and_as_fast_as_it_says(self):
        rows = {cells[1].strip(): cells for cells in (line.split("|") for line in self.TEXT.splitlines()) if cells[2:]}
        columns = [c.strip() for c in next(line for line in self.TEXT.splitlines() if "| CPU s |" in line).split("|")]
        ours, omp = (
            np.array([rows[name][i] for i, c in enumerate(columns) if c in ("R²", "AUC", "CPU s")], dtype=float)
            for name in ("variegate, 20", "OMP")
        )
        flat = " ".join(self.TEXT.split())
        assert "OMP comes close in the table above (with two classes it is as good)" in flat
        assert "and takes less than a hundredth of the time" in flat
        r2, _, auc, _ = omp - ours
        assert auc == pytest.approx(0, abs=0.003)
        assert abs(r2) < 0.03
        assert (ours[[1, 3]] / omp[[1, 3]]).min() > 100

    @pytest.mark.slow
    def test_the_first_picture_and_its_caption(self):
        space = script("docs/pictures/near_copies.py")
        hard, easy = ([space["chosen"](seed, *space[name]) for seed in range(4)] for name in ("HARD", "EASY"))
        flat = " ".join(self.TEXT.split())
        for found, said in [
            (hard, "four such tables it hits {Lasso:.1f} of 12 blocks, variegate {variegate:.1f}."),
            (easy, "they hit {Lasso:.1f} and {variegate:.1f} of 3."),
        ]:
            assert said.format(**space["mean_hits"](found)) in flat, "run: make pictures"
        data, sets = hard[0]
        assert "misses five that matter, variegate takes one of each" in flat
        assert [space["hits"](data, S) for S in sets.values()] == [7, 12, 12]
        mean = space["mean_hits"](hard)
        assert "OMP hits as many blocks as variegate here" in flat
        assert f"{mean['OMP']:.1f}" == f"{mean['variegate']:.1f}"

    def test_pictures_are_there_and_light(self):
        names = re.findall(r"!\[[^]]*\]\(([^)]+)\)", self.TEXT)
        assert names
        assert all((ROOT / name).stat().st_size < 150_000 for name in names)


LINK = re.compile(r"(?<!!)\[(?P<words>[^]]*)\]\((?P<to>[^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("name", [name for name in PAGES if LINK.search(PAGES[name].read_text(encoding="utf-8"))])
def test_links_lead_to_files(name):
    """Also where no site is built: pages are read on the web as they are."""
    made = {ROOT / "docs/errors.md", ROOT / "docs/gallery/index.rst"}  # by `make docs`
    for link in LINK.finditer(PAGES[name].read_text(encoding="utf-8")):
        if "://" not in link["to"]:
            file = (PAGES[name].parent / link["to"]).resolve()
            assert file.exists() or file in made, f"{name}: {link[0]} leads nowhere"


@pytest.mark.parametrize(("words", "page"), script("docs/check_site.py")["DOORS"].items())
def test_the_readme_has_the_doors_of_the_site(words, page):
    (row,) = [line for line in TestReadme.TEXT.splitlines() if line.startswith(f"| {words} |")]
    assert f"](docs/{page.replace('.html', '.md')})" in row
