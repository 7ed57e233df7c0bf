import pytest
import torch

import cellformer as cf
from cellformer.complexes.examples import torus_grid
from cellformer.training.estimating.step_memory import kept_tensors, step_memory

SPARSE = [cf.pairwise_sparse(), cf.general_sparse()]


def batch_of(side):
    return cf.collate([cf.encode(torus_grid(side, side), cf.RWPe(4))])


def model_of(batch, plan, layers=2):
    config = cf.ModelConfig.for_batch(
        batch, cf.ArchitectureConfig(width=16, layers=layers, heads=4, dropout=0.1)
    )
    return cf.CellularTransformer(config, plan)


def kept_bytes(model, batch):
    with kept_tensors() as kept:
        model(batch)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    return [t.untyped_storage().nbytes() for at, t in kept.items() if at not in own]


@pytest.mark.parametrize("plan", [*SPARSE, cf.pairwise_mixed(), cf.general_dense()])
def test_layers_are_alike_so_two_tell_the_memory_of_many(plan):
    batch = batch_of(5)
    many = model_of(batch, plan, layers=5)
    expected = step_memory(batch, many.config.architecture, plan)
    assert expected.parameters == sum(p.numel() for p in many.parameters())
    sizes = kept_bytes(many, batch)
    assert expected.bytes_per_cell * sum(batch.num_cells) == pytest.approx(sum(sizes) + max(sizes))
    assert expected.bytes(100.0) > expected.bytes(50.0) > 16 * expected.parameters


@pytest.mark.parametrize("layers", [0, 1])
def test_a_shallow_model_is_measured_as_it_is(layers):
    batch = batch_of(4)
    model = model_of(batch, cf.general_sparse(), layers)
    expected = step_memory(batch, model.config.architecture, cf.general_sparse())
    assert expected.parameters == sum(p.numel() for p in model.parameters())


def test_measuring_leaves_the_random_numbers_alone():
    batch = batch_of(3)
    architecture = model_of(batch, SPARSE[0]).config.architecture
    state = torch.get_rng_state()
    step_memory(batch, architecture, SPARSE[0])
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("plan", SPARSE)
def test_memory_of_sparse_attention_is_linear_in_the_cells(plan):
    """Counted tensor by tensor, so it does not depend on what else the process holds."""
    totals, largest = [], []
    for side in (50, 100):  # 10,000 and 40,000 cells
        batch = batch_of(side)
        sizes = kept_bytes(model_of(batch, plan), batch)
        totals.append(sum(sizes) / sum(batch.num_cells))
        largest.append(max(sizes) / sum(batch.num_cells))
    assert totals[1] == pytest.approx(totals[0], rel=0.01)
    assert largest[1] == pytest.approx(largest[0], rel=0.01)


@pytest.mark.parametrize("plan", SPARSE)
def test_no_operation_of_a_step_allocates_more_than_linearly(plan):
    most = []
    for side in (25, 50, 100):
        batch = batch_of(side)
        model = model_of(batch, plan)
        with torch.profiler.profile(profile_memory=True) as profile:
            model(batch).sum().backward()
        allocated = [event.self_cpu_memory_usage for event in profile.events()]
        most.append(max(allocated) / sum(batch.num_cells))
    assert most[1] == pytest.approx(most[0], rel=0.05)
    assert most[2] == pytest.approx(most[0], rel=0.05)
