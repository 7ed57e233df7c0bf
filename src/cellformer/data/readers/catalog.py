"""Readers of sources by name: those that a user brings. The others are found by what they read."""

from cellformer.basics.parts.catalog import Catalog

READERS = Catalog("reader", {})
