"""The paper's grid and its tables."""
