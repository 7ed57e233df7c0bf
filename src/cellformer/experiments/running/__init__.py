"""Many trainings, one after the other or elsewhere."""
