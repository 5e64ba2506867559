"""Tables larger than memory: read in blocks, wherever they are."""

from .arrays import ArrayTable as ArrayTable
from .genotypes import open_genotypes as open_genotypes
from .moments import FirstLook, Moments, first_look
from .open_table import as_large_table, is_out_of_core, open_large_table, open_on_cluster
from .protocol import Block, LargeTable, Work
from .views import SomeRows as SomeRows
from .views import WithColumns as WithColumns

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
