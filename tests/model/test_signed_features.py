import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.model.described import cell_model


def disc(seed=0):
    """Two triangles and a tail, with a flow along the edges and a flux through each face."""
    rng = np.random.default_rng(seed)
    cells = cf.simplicial_complex(np.array([(0, 1, 2), (1, 2, 3)]))
    features = [
        cf.Features.empty(count).with_signed(rng.normal(size=count)) if rank else None
        for rank, count in enumerate(cells.num_cells)
    ]
    return cf.CellComplex.from_boundaries(cells.boundaries, features=features)


def model_of(complexes, **shape):
    batch = cf.collate(complexes)
    architecture = cf.ArchitectureConfig(width=16, heads=2, layers=2, signed_width=8)
    config = cf.ModelConfig(architecture, cf.DataShape.of(batch, **shape))
    return cell_model(config, cf.attention_plan("pairwise-sparse")).eval()


@pytest.mark.parametrize("rank", [1, 2])
def test_predictions_of_cells_flip_with_their_fields(rank, seeded):
    cells = disc()
    model = model_of([cells], target_rank=rank, flips=True)
    rng = np.random.default_rng(1)
    signs = [None, *(rng.choice([-1, 1], size=n) for n in cells.num_cells[1:])]
    plain = model(cf.collate([cells]))
    turned = model(cf.collate([cf.flip(cells, signs)]))
    assert plain.abs().min() > 0
    assert torch.equal(turned, plain * torch.from_numpy(signs[rank])[:, None])


def test_predictions_of_complexes_depend_on_fields_and_not_on_orientations(seeded):
    cells = disc()
    model = model_of([cells])
    signs = [None, np.array([1, -1, -1, 1, -1]), np.array([-1, 1])]
    plain = model(cf.collate([cells]))
    torch.testing.assert_close(model(cf.collate([cf.flip(cells, signs)])), plain)
    assert not torch.allclose(model(cf.collate([disc(seed=2)])), plain)


def test_fields_are_seen_in_units_of_their_size(seeded):
    cells = disc()
    many = cf.RaggedComplexes.from_complexes([cells])
    model = model_of([cells])
    cf.standardize_features(model, many, np.array([0]))
    root = np.sqrt(np.square(cells.features[1].signed).mean())
    assert model.embedding.signed.get_buffer("scale_1").item() == pytest.approx(root, rel=1e-6)


def test_a_model_without_such_columns_says_what_to_set():
    batch = cf.collate([disc()])
    with pytest.raises(ValueError, match=r"the features change their sign .*model\.signed_width"):
        cf.ModelConfig(cf.ArchitectureConfig(), cf.DataShape.of(batch))
    plain = cf.simplicial_complex(np.array([(0, 1, 2), (1, 2, 3)]))
    model = model_of([disc()])
    with pytest.raises(ValueError, match=r"rank 1 of the batch has \(0, 0, 0\) discrete, cont"):
        model(cf.collate([plain]))
