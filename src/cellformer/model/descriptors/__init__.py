"""What stands beside the transformer where numbers describe complexes as wholes."""
