"""The processes of one training on this machine."""
