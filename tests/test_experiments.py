"""The experiments run end to end and write their figures."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_toy(tmp_path):
    run = [sys.executable, str(ROOT / "experiments/toy/run.py"), "--draws", "500", "--out", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "0.500" in done.stdout
    assert (tmp_path / "figure1.png").stat().st_size > 10_000
    assert (tmp_path / "figure1.svg").stat().st_size > 10_000
