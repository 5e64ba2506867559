"""One file for a fitted model: arrays and JSON, no pickle, no code."""

from .archive import UnreadableModel
from .model import load, save

__all__ = ["UnreadableModel", "load", "save"]
