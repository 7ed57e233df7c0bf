"""A page on this machine to look at predictions of a run."""
