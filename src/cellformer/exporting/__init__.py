"""Models that leave: files that predict without this package."""
