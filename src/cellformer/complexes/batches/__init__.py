"""Many complexes as tensors: batches, and the neighborhoods that attention reads in them."""
