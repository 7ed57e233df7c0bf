"""What a model attended to, and what its prediction is made of."""
