"""What a run folder holds."""
