"""Which cells attend to which, and what is known of a pair."""
