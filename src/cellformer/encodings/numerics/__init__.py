"""The linear algebra of the encodings."""
