"""The ground floor: graphs, cell complexes, neighborhoods, the ragged store, batches."""
