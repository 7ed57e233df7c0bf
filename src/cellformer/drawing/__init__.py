"""Pictures of complexes, colored by an encoding."""
