"""Data sets that are known by name."""
