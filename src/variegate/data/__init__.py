"""Reading tables and networks as users have them."""

from .errors import DataWarning, UnreadableInput
from .network import Network, as_network, network_from_edges

__all__ = ["DataWarning", "Network", "UnreadableInput", "as_network", "network_from_edges"]
