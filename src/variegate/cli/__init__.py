"""The command line: `variegate select`, `predict`, `report`, `compare`, `demo`.

Commands declare only their options; the code that does the work is imported on use, so `--help` loads no numerics.
"""

from .main import main

__all__ = ["main"]
