"""The experiments run end to end and write their figures."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


def test_toy(tmp_path):
    run = [sys.executable, str(ROOT / "experiments/toy/run.py"), "--draws", "500", "--out", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    pairs = np.array(re.findall(r"(\d\.\d{3}) \((\d\.\d{3})\)", done.stdout), dtype=float)
    drawn, exact = pairs.T
    assert len(drawn) == 5 * 4
    assert np.abs(drawn - exact).max() < 5 * np.sqrt(0.5 / 500)  # five standard errors of at most
    assert (drawn != exact).any()
    assert (tmp_path / "figure1.png").stat().st_size > 10_000
    assert (tmp_path / "figure1.svg").stat().st_size > 10_000


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_interrupted_set_up_is_taken_up_again(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()  # the environment was made, but uv never got into it
    run = ["make", "--dry-run", f"{tmp_path}/.dev", f"VENV={tmp_path}"]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "install --quiet --disable-pip-version-check uv" in done.stdout
