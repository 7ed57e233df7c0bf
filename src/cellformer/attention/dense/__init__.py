"""Dense attention within each complex."""
