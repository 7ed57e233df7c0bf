"""Which rows, or cells, train, validate and test."""
