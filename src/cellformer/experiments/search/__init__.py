"""Search for good values of the configuration."""
