"""Presets, grids and result tables; imports the library, never the reverse."""
