"""From a set of graphs to encoded complexes on disk."""
