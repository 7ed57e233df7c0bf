"""The attention operator, behind one door."""
