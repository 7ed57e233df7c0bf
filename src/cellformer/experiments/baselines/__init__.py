"""Graph networks of PyTorch Geometric, trained as our models are, to compare with."""
