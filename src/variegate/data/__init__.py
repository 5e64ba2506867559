"""Read tables and networks in the formats users have."""

from .biogrid import read_biogrid
from .csv_table import TextSource as TextSource
from .edge_lists import read_edges
from .errors import DataWarning, UnreadableInput
from .errors import MissingValues as MissingValues
from .errors import did_you_mean as did_you_mean
from .errors import in_brief as in_brief
from .errors import optional as optional
from .frames import open_source as open_source
from .gene_sets import read_gene_sets
from .graphml import read_graphml
from .network import Network, as_network, network_from_edges
from .network import locate_names as locate_names
from .network import unambiguous as unambiguous
from .outcome import check_column as check_column
from .outcome import check_no_ids as check_no_ids
from .outcome import labels as labels
from .outcome import second_table as second_table
from .places import read_labels as read_labels
from .places import read_places as read_places
from .places import read_prices as read_prices
from .places import rows_of as rows_of
from .plink import read_individuals as read_individuals
from .plink import read_variants as read_variants
from .plink import variant_names as variant_names
from .raw import RawTable as RawTable
from .raw import Source as Source
from .raw import check_names as check_names
from .read_network import read_network
from .string_db import read_string
from .table import Table, TableReport, read_table
from .text import read_text as read_text
from .text import shortened as shortened

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
