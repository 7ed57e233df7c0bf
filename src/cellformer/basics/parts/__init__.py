"""Parts that are chosen by name: those that this package lists, and those of a user's own."""
