"""Many complexes, or graphs, as a few flat arrays, in memory and on disk."""
