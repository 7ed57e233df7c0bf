import numpy as np
import pytest
import torch
from scipy import sparse

from cellformer.attention.gpu.operator import interpret_on_cpu
from cellformer.complexes.batches.neighborhood import Neighborhood


def _tokens(seed, receivers, senders, head_width=3, heads=2, dtype=torch.float64):
    """Queries, keys and values that require gradients."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((receivers, head_width), (senders, head_width), (senders, head_width + 1))
    return [
        torch.randn(*shape, heads, generator=generator, dtype=torch.float64)
        .to(dtype)
        .requires_grad_()
        for shape in shapes
    ]


def _neighborhood(seed, receivers, senders, density=0.4):
    """Random pairs with counts 1, 2 and 3 as weights."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, (receivers, senders)) * (rng.random((receivers, senders)) < density)
    return Neighborhood.from_matrix(sparse.csr_array(counts))


def _dense_matrix(neighborhood):
    matrix = torch.zeros(neighborhood.num_receivers, neighborhood.num_senders, dtype=torch.float64)
    matrix[neighborhood.receivers, neighborhood.senders] = neighborhood.weights.double()
    return matrix


@pytest.fixture(scope="session")
def tokens():
    return _tokens


@pytest.fixture(scope="session")
def random_neighborhood():
    return _neighborhood


@pytest.fixture(scope="session")
def dense_matrix():
    return _dense_matrix


@pytest.fixture(scope="session")
def interpreted():
    """The GPU's operator takes tensors on a CPU, its kernels run by Triton's interpreter."""
    triton = pytest.importorskip("triton")
    if not triton.knobs.runtime.interpret:
        pytest.skip("TRITON_INTERPRET is not 1, so Triton's kernels need a GPU")
    interpret_on_cpu()
