"""Sources of graphs, preparation and splits."""
