"""Who attends to whom in every layer: the forms of attention."""
