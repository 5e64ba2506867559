"""The command line: `variegate select`, `predict`, `report`, `compare`, `paper`, `demo`.

Commands only say what they take; the work is imported when it starts, so that `variegate --help` needs no numerics.
"""

from .main import main

__all__ = ["main"]
