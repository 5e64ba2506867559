"""The code that the README shows runs and does what its comments say."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_readme_code(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(ROOT / "README.md")
    assert blocks
    space = {}
    for block in blocks:
        exec(block, space)
    assert capsys.readouterr().out
    kinds = space["dpp"].map(size=5) // 4
    assert sorted(kinds) == [0, 1, 2, 3, 4]
    assert (space["dpp"].condition(include=[0]).inclusion_prob()[:3] < 0.02).all()
    assert sorted(space["posterior"].map() // 4) == [0, 2]
    assert 0 not in space["posterior"].condition(exclude=[0]).map()
