"""From graphs to cell complexes, one file per lifting."""
