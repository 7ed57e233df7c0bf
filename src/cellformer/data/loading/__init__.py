"""From prepared complexes to batches."""
