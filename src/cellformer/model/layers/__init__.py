"""The layers, and what they are made of."""
