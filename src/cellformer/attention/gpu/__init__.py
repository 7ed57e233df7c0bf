"""Attention on a GPU: Triton kernels."""
