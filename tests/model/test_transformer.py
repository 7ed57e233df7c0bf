import inspect
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import cellformer as cf
from cellformer.chemistry.smiles import ATOM_CATEGORIES, BOND_CATEGORIES
from cellformer.complexes.cell_complex import RANK_SIGN, SHARED_SIGN
from cellformer.complexes.matrices import hodge_laplacian, incidence
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig
from cellformer.model.plans.general import General
from cellformer.model.plans.named import attention_plan, plan_from_dict, plan_to_dict
from cellformer.model.plans.pairwise import Pairwise, pairwise_mixed, pairwise_sparse
from cellformer.model.relations.diagram import Arrow, TensorDiagram
from cellformer.model.transformer import CellularTransformer

NAMES = ATTENTIONS.names
every_attention = pytest.mark.parametrize("name", NAMES)


def model_for(complexes, plan, **options):
    """A small double-precision model at evaluation, the same one for the same arguments."""
    torch.manual_seed(0)
    architecture = ArchitectureConfig(**{"width": 16, "layers": 2, "heads": 2, **options})
    config = ModelConfig.for_batch(cf.collate(complexes), architecture, outputs=2)
    return CellularTransformer(config, plan).double().eval()


def train(batch, targets):
    config = ModelConfig.for_batch(
        batch, ArchitectureConfig(width=32, layers=2, heads=4, attention_dropout=0.0)
    )
    model = CellularTransformer(config, pairwise_mixed())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = (model(batch) - targets).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


def test_a_training_loop_of_ones_own_takes_less_than_15_lines(ring, path, seeded):
    batch = cf.collate([ring(3), ring(4), ring(5, filled=False), path(4)])
    assert train(batch, torch.tensor([[3.0], [-1.0], [0.5], [2.0]])) < 0.3
    assert len(inspect.getsource(train).splitlines()) < 15


@every_attention
@pytest.mark.parametrize("position", ["concat", "sum"])
@pytest.mark.parametrize("edge_signal", ["concat", "sum"])
def test_every_attention_trains_with_finite_gradients(
    name, position, edge_signal, ring, path, cliques, seeded
):
    batch = cf.collate([ring(4), path(3), cliques(0), path(1)])
    architecture = ArchitectureConfig(
        width=16, layers=3, heads=4, position=position, edge_signal=edge_signal, final_norm=True
    )
    config = ModelConfig.for_batch(batch, architecture, outputs=3)
    model = CellularTransformer(config, attention_plan(name))
    output = model(batch)
    assert output.shape == (4, 3)
    output.square().sum().backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    assert all(torch.isfinite(gradient).all() for gradient in gradients.values())
    for part in ("embedding.features.0", "layers.0.", "layers.2.", "final_norms.0", "readout"):
        assert any(part in n and bool((g != 0).any()) for n, g in gradients.items()), part


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@every_attention
def test_a_step_in_other_precisions_is_finite(name, dtype, ring, path):
    batch = cf.collate([ring(4), path(3)])
    model = model_for([ring(4), path(3)], attention_plan(name)).to(dtype).train()
    output = model(batch)
    assert output.dtype == dtype
    output.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@every_attention
def test_autocast_gives_finite_gradients(name, ring, path):
    model = model_for([ring(4), path(3)], attention_plan(name)).float().train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(cf.collate([ring(4), path(3)]))
    output.float().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@every_attention
@settings(deadline=None, max_examples=5)
@given(st.integers(0, 99))
def test_a_complex_gives_the_same_output_alone_and_in_any_batch(name, cliques, ring, path, seed):
    complexes = [cliques(seed, 7), ring(3 + seed % 9), path(2), cliques(seed + 1, 5), path(1)]
    model = model_for(complexes, attention_plan(name))
    together = model(cf.collate(complexes))
    alone = torch.cat([model(cf.collate([cells])) for cells in complexes])
    backwards = model(cf.collate(complexes[::-1])).flip(0)
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(together, backwards)


@every_attention
def test_another_complex_in_the_batch_changes_no_bit(name, ring, cliques):
    last = cliques(7, 8)
    model = model_for([ring(5), last], attention_plan(name)).float()
    # The same number of cells, other colors and encodings, other faces.
    first, second = (cf.collate([ring(5, seed=seed), last, ring(6)]) for seed in (1, 2))
    one, other = model(first), model(second)
    assert not torch.equal(one[0], other[0])
    assert torch.equal(one[1:], other[1:])


@every_attention
@settings(deadline=None, max_examples=5)
@given(st.integers(0, 99))
def test_relabeling_cells_does_not_change_the_output(name, cliques, relabeled, seed):
    cells = cliques(seed, 7, face_features=True)
    model = model_for([cells], attention_plan(name), readout_cells="all")
    moved = model(cf.collate([relabeled(cells, seed)]))
    torch.testing.assert_close(moved, model(cf.collate([cells])))


@every_attention
@pytest.mark.parametrize("edge_signal", ["sum", "concat"])
@settings(deadline=None, max_examples=4)
@given(st.integers(0, 99))
def test_flipping_orientations_does_not_change_the_output(
    name, edge_signal, cliques, flipped, seed
):
    cells = cliques(seed, 7)
    model = model_for([cells], attention_plan(name), edge_signal=edge_signal)
    turned = model(cf.collate([flipped(cells, seed)]))
    assert torch.equal(turned, model(cf.collate([cells])))


@every_attention
def test_a_missing_rank_of_the_first_complex_hides_no_rank_of_the_others(name, ring, path):
    model = model_for([ring(5), path(4)], attention_plan(name))
    forward = model(cf.collate([ring(5), path(4)]))
    backward = model(cf.collate([path(4), ring(5)]))
    torch.testing.assert_close(forward, backward.flip(0))


@every_attention
def test_there_is_one_row_per_complex_also_for_a_trailing_atom(name, path):
    model = model_for([path(2)], attention_plan(name))
    output = model(cf.collate([path(2), path(1)]))
    assert output.shape == (2, 2)
    torch.testing.assert_close(output[1:], model(cf.collate([path(1)])))


@every_attention
def test_offsets_are_each_ranks_own(name, cliques):
    # Complexes with three different counts of cells, and no two alike.
    complexes = [cliques(2, 5), cliques(3, 8)]
    assert len({cells.num_cells[k] for cells in complexes for k in range(3)}) == 6
    model = model_for(complexes, attention_plan(name))
    together = model(cf.collate(complexes))
    alone = torch.cat([model(cf.collate([cells])) for cells in complexes])
    torch.testing.assert_close(together, alone)


@every_attention
def test_an_edge_without_a_face_has_finite_values_and_gradients(name, ring):
    batch = cf.collate([ring(4, filled=False), ring(3)])
    model = model_for([ring(3)], attention_plan(name)).train()
    output = model(batch)
    output.sum().backward()
    assert torch.isfinite(output).all()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@every_attention
def test_ranks_get_parameters_by_the_diagram_not_by_the_batch(name, path, ring):
    counts = {
        sum(p.numel() for p in model_for([cells], attention_plan(name)).parameters())
        for cells in (path(1, seed=2), path(3, seed=2), ring(3, seed=2))
    }
    assert len(counts) == 1


def test_a_batch_of_a_higher_rank_than_the_diagram_is_an_error(cliques, ring):
    with pytest.raises(ValueError, match=r"describes cells of rank 2, .* ends at rank 1"):
        model_for([ring(4)], pairwise_sparse(1))
    model = model_for([ring(4, filled=False)], pairwise_sparse(1))
    with pytest.raises(ValueError, match=r"the batch has cells of rank 2, .* max_rank=2"):
        model(cf.collate([ring(4)]))


def test_a_category_not_seen_in_training_is_no_error(ring):
    model = model_for([ring(4)], pairwise_mixed())
    strange = cf.CellComplex.from_boundaries([], 1, features=[[17]])
    strange = strange.with_encodings([np.zeros((1, 3), np.float32)], np.zeros(3, np.int8))
    assert torch.isfinite(model(cf.collate([strange]))).all()


@pytest.mark.parametrize("general", [False, True])
@settings(deadline=None, max_examples=5)
@given(st.integers(0, 99))
def test_a_users_own_diagram_of_dimension_three_trains(general, cliques, relabeled, seed):
    def vertices_to_solids(cells):
        product = incidence(cells, 1) @ incidence(cells, 2) @ incidence(cells, 3)
        return sparse.csr_array(product.T)

    diagram = TensorDiagram(
        (
            Arrow(0, 3, vertices_to_solids),
            Arrow(3, 2, "incidence"),
            Arrow(2, 1, "incidence"),
            Arrow(1, 0, "incidence"),
            Arrow(1, 1, "up", dense=not general),
            Arrow(1, 1, lambda cells: abs(hodge_laplacian(cells, 1))),
        )
    )
    complexes = [cliques(seed, 7, 0.8, dim=3), cliques(seed + 1, 4, 0.9, dim=3)]
    model = model_for(complexes, General(diagram, False) if general else Pairwise(diagram)).train()
    model.layers.eval()  # no dropout
    output = model(cf.collate(complexes))
    output.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
    moved = model(cf.collate([relabeled(cells, seed) for cells in complexes]))
    torch.testing.assert_close(moved, output)


@every_attention
def test_the_same_seed_makes_the_same_model_and_the_same_step(name, ring, path):
    def step():
        model = model_for([ring(4), path(3)], attention_plan(name)).train()
        torch.manual_seed(1)
        model(cf.collate([ring(4), path(3)])).sum().backward()
        return [p if p.grad is None else p.grad for p in model.parameters()]

    for first, second in zip(step(), step(), strict=True):
        assert torch.equal(first, second)


def test_signs_are_random_in_training_only(encoded, ring):
    cells = encoded(ring(5), signs=[SHARED_SIGN, RANK_SIGN] * 3)
    model = model_for([cells], pairwise_sparse(), attention_dropout=0.0)
    batch = cf.collate([cells])
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert len({tuple(model(batch).flatten().tolist()) for _ in range(5)}) > 1
    model = model_for([cells], pairwise_sparse(), attention_dropout=0.0, random_signs=False)
    assert torch.equal(model.train()(batch), model(batch))


@every_attention
def test_a_model_is_restored_from_json_and_its_weights(name, ring, path):
    batch = cf.collate([ring(4), path(3)])
    model = model_for([ring(4), path(3)], attention_plan(name))
    saved = json.loads(json.dumps([model.config.to_dict(), plan_to_dict(model.plan)]))
    restored = CellularTransformer(ModelConfig.from_dict(saved[0]), plan_from_dict(saved[1]))
    restored.double().eval().load_state_dict(model.state_dict())
    assert torch.equal(restored(batch), model(batch))


@every_attention
def test_embed_gives_every_cell_its_vector(name, ring, path):
    batch = cf.collate([ring(4), path(3)])
    cells = model_for([ring(4)], attention_plan(name)).embed(batch)
    assert [tuple(rows.shape) for rows in cells] == [(n, 16) for n in batch.num_cells]


ZINC = (
    ArchitectureConfig(width=96, layers=12, heads=8, readout_layers=2),
    DataShape(((28,), (4,), ()), (0, 0, 0), 8, 1),
)
GCB = (
    ArchitectureConfig(width=80, layers=12, heads=8, readout_layers=1, edge_signal="concat"),
    DataShape(((5,), (), ()), (0, 0, 0), 8, 3),
)
MOLHIV = (
    ArchitectureConfig(width=768, layers=12, heads=32, readout_layers=3),
    DataShape((ATOM_CATEGORIES, BOND_CATEGORIES, ()), (0, 0, 0), 8, 1),
)


@pytest.mark.parametrize(
    ("preset", "kind", "millions"),
    [
        (ZINC, "pairwise", 3.85),
        (ZINC, "general", 0.94),
        (GCB, "pairwise", 2.68),
        (GCB, "general", 0.65),
        (MOLHIV, "pairwise", 243),
        (MOLHIV, "general", 59),
    ],
)
def test_the_papers_models_have_their_number_of_parameters(preset, kind, millions):
    for name in NAMES:
        if name.startswith(kind):
            with torch.device("meta"):
                model = CellularTransformer(ModelConfig(*preset), attention_plan(name))
            count = sum(parameter.numel() for parameter in model.parameters())
            assert count == pytest.approx(1e6 * millions, rel=0.03)
