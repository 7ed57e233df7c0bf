"""Positional encodings of the cells of every rank, one file per family."""
