"""Readers of the official raw formats of published data sets."""
