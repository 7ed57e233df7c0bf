"""Numbers side by side in vector registers."""
