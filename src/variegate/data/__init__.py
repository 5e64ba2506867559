"""Reading tables and networks in the formats users have."""

from .biogrid import read_biogrid
from .edge_lists import read_edges
from .errors import DataWarning, UnreadableInput
from .gene_sets import read_gene_sets
from .graphml import read_graphml
from .network import Network, as_network, network_from_edges
from .read_network import read_network
from .string_db import read_string
from .table import Table, TableReport, read_table

__all__ = [
    "DataWarning",
    "Network",
    "Table",
    "TableReport",
    "UnreadableInput",
    "as_network",
    "network_from_edges",
    "read_biogrid",
    "read_edges",
    "read_gene_sets",
    "read_graphml",
    "read_network",
    "read_string",
    "read_table",
]
