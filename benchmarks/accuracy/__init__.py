"""Peers on the same rows: `python -m benchmarks.accuracy`."""
