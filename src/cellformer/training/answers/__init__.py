"""What trained models say, and how good it is."""
