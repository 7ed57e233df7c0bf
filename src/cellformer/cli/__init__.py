"""Parse and call: the command line."""
