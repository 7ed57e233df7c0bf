import torch

import cellformer as cf


def test_the_lines_of_the_readme_run():
    naphthalene = cf.Graph.from_smiles("c1ccc2ccccc2c1")
    cells = cf.encode(
        cf.lift(naphthalene, cf.InducedCycles(max_length=8)), [cf.BSPe(8), cf.RWPe(8)]
    )
    batch = cf.collate([cells, cells])
    config = cf.ModelConfig.for_batch(batch, width=64, layers=4, heads=8, outputs=1)
    model = cf.CellularTransformer(config, cf.pairwise_mixed())
    value = model(batch)
    assert value.shape == (2, 1)
    assert torch.isfinite(value).all()


def test_every_public_name_is_there():
    for name in cf.__all__:
        value = getattr(cf, name)
        assert value.__doc__ or name in ("PRESETS", "Lifting"), name
