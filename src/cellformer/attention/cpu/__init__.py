"""Attention on a CPU: fused kernels, compiled by Numba."""
