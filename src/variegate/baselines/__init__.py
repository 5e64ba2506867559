"""Other ways to select features, and ours, with one interface: a problem and a size in, sorted positions out."""

from .choose import METHODS, as_method, chooses_size, select
from .ours import Diverse
from .ours import diverse_path as diverse_path
from .penalised import at_size
from .problem import Method, Problem

__all__ = ["METHODS", "Diverse", "Method", "Problem", "as_method", "at_size", "chooses_size", "select"]
