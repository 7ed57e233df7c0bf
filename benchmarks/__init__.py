"""Timings against peers: run as ``python -m benchmarks.<name> [--out FILE.json]``."""
