"""Comparing implementations of sparse attention, values and gradients."""

import torch

PRECISION = {torch.float32: 1e-5, torch.float64: 1e-10}
# What divides the heads, up to 8, stands side by side; each such number is compiled anew, slowly:
# tests in double precision elsewhere use 2 of them too.
HEADS = {torch.float32: (1, 2, 3, 4, 6, 8, 16), torch.float64: (2, 6, 8, 10, 14, 16, 24)}


def results(operator, inputs, neighborhood, bias=None, pair_values=None, seed=0, **options):
    """The output and the gradients of all inputs, for a loss with a different slope everywhere."""
    torch.manual_seed(seed)
    given = {"bias": bias, "pair_values": pair_values}
    output = operator(*inputs, neighborhood, **given, **options)
    slope = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).cos().view(output.shape)
    inputs = [*inputs, *(tensor for tensor in given.values() if tensor is not None)]
    return output, *torch.autograd.grad((output * slope).sum(), inputs)


def assert_close(got, expected, relative):
    """Relative to the largest result: a gradient may be a small difference of large terms."""
    scale = max(other.abs().max().item() if other.numel() else 0.0 for other in expected)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=relative * max(scale, 1e-3))


def bias_for(neighborhood, columns, dtype):
    if not columns:
        return None
    generator = torch.Generator().manual_seed(5)
    shape = (len(neighborhood.senders), columns)
    return torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()


def pair_values_for(neighborhood, columns, heads, dtype):
    if not columns:
        return None
    generator = torch.Generator().manual_seed(6)
    shape = (len(neighborhood.senders), columns, heads)
    return torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()
