"""The experiments run end to end and write their figures."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_toy(tmp_path):
    run = [sys.executable, str(ROOT / "experiments/toy/run.py"), "--draws", "500", "--out", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "0.500" in done.stdout
    assert (tmp_path / "figure1.png").stat().st_size > 10_000
    assert (tmp_path / "figure1.svg").stat().st_size > 10_000


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_interrupted_set_up_is_taken_up_again(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()  # the environment was made, but uv never got into it
    run = ["make", "--dry-run", f"{tmp_path}/.dev", f"VENV={tmp_path}"]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "install --quiet --disable-pip-version-check uv" in done.stdout
