"""One file for a fitted model: arrays and JSON, no pickle, nothing that runs."""

from .archive import UnreadableModel
from .model import load, save

__all__ = ["UnreadableModel", "load", "save"]
