"""Pictures of scores."""
