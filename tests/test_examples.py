"""The examples run and say what they should."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_costs():
    """A log-likelihood with its derivatives serves the exact chain."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/costs.py")], capture_output=True, text=True, check=True
    )
    assert "most probable set: [0, 6]" in done.stdout
