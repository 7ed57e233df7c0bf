"""Preparation, grids and searches on a Ray cluster."""
