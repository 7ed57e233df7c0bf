"""One training: steps, epochs, checkpoints, signals."""
