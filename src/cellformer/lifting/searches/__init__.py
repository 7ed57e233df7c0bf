"""Compiled searches for cycles."""
