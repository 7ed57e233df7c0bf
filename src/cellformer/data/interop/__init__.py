"""Graphs and complexes of other libraries, from and to ours."""
