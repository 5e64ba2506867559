"""Exact chains over feature sets."""
