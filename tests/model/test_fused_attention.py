"""Whole models compute the same with the fused kernels as with the reference."""

import pytest
import torch

import cellformer as cf
from cellformer.attention.operator import use_attention
from cellformer.model.config import ArchitectureConfig, ModelConfig
from cellformer.model.plans.named import attention_plan
from cellformer.model.transformer import CellularTransformer

every_attention = pytest.mark.parametrize(
    "name", ["pairwise-sparse", "pairwise-mixed", "general-sparse"]
)


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny operations are slower on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def batch(ring, path, cliques):
    return cf.collate([ring(4), path(3), cliques(0), ring(5, filled=False), path(1), cliques(1)])


@pytest.fixture
def targets(batch):
    return torch.linspace(-1, 1, batch.num_complexes).unsqueeze(1)


def model_for(name, batch, dtype=torch.float32):
    torch.manual_seed(0)
    config = ModelConfig.for_batch(
        batch, ArchitectureConfig(width=16, layers=2, heads=8, attention_dropout=0.0)
    )
    return CellularTransformer(config, attention_plan(name)).to(dtype)


@pytest.mark.parametrize(("dtype", "relative"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@every_attention
def test_output_loss_and_gradients_equal_the_reference(name, dtype, relative, batch, targets):
    results = []
    for which in ("fused", "reference"):
        model = model_for(name, batch, dtype)
        with use_attention(which):
            output = model(batch)
            loss = (output - targets).abs().mean()
            loss.backward()
        gradients = torch.cat(
            [
                (torch.zeros_like(p) if p.grad is None else p.grad).flatten()
                for p in model.parameters()
            ]
        )
        results.append((output, loss, gradients))
    for got, expected in zip(*results, strict=True):
        error = torch.linalg.vector_norm(got - expected) / torch.linalg.vector_norm(expected)
        assert error < relative


@every_attention
def test_twenty_steps_of_training_follow_the_reference(name, batch, targets):
    curves = []
    for which in ("fused", "reference"):
        model = model_for(name, batch)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        with use_attention(which):
            losses = []
            for _ in range(20):
                loss = (model(batch) - targets).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        curves.append(losses)
    assert curves[0][-1] < curves[0][0]
    assert curves[0] == pytest.approx(curves[1], rel=1e-4)
