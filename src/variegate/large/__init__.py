"""Tables larger than memory: read in blocks, wherever they are."""

from .arrays import ArrayTable as ArrayTable
from .beside import WithColumns as WithColumns
from .genotypes import open_genotypes as open_genotypes
from .home import as_large_table, is_out_of_core, open_large_table, open_on_cluster
from .looks import FirstLook, Moments, first_look
from .protocol import Block, LargeTable, Work
from .rows import SomeRows as SomeRows

__all__ = [
    "Block",
    "FirstLook",
    "LargeTable",
    "Moments",
    "Work",
    "as_large_table",
    "first_look",
    "is_out_of_core",
    "open_large_table",
    "open_on_cluster",
]
