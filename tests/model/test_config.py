import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

import cellformer as cf
from cellformer.model.config import ArchitectureConfig, DataShape, ModelConfig


def test_a_batch_and_its_collection_describe_the_same_data(cliques):
    complexes = [cliques(0, face_features=True), cliques(1, face_features=True)]
    ragged = cf.RaggedComplexes.from_complexes(complexes)
    shape = DataShape.of(ragged, outputs=4)
    assert shape == DataShape.of(cf.collate(complexes), outputs=4)
    assert shape == DataShape(((3,), (), ()), (0, 0, 2), 3, 4)


def test_a_rank_without_cells_has_columns_without_categories(path):
    cells = cf.CellComplex.from_boundaries(
        [np.zeros((1, 0))], features=[[0], np.zeros((0, 2), np.int64)]
    )
    assert DataShape.of(cf.collate([cells])).categories == ((1,), (0, 0))


def test_every_field_of_an_architecture_can_be_another(ring):
    changed = {
        "width": 32,
        "layers": 1,
        "heads": 4,
        "feedforward_width": 48,
        "dropout": 0.2,
        "attention_dropout": 0.3,
        "embedding_dropout": 0.4,
        "readout": "network()",
        "readout_layers": 1,
        "readout_dropout": 0.5,
        "readout_cells": "all",
        "pooling": "mean",
        "position": "sum",
        "edge_signal": "concat",
        "neighbor_weights": "binary",
        "scale_scores": False,
        "projection_bias": False,
        "output_projection": False,
        "theta_per_head": True,
        "final_norm": True,
        "norm": "rms",
        "degree_scaling": "log",
        "gate": True,
        "reach": "1,3,all,2",
        "virtual_cell": True,
        "layer_dropout": 0.7,
        "sign_invariant": True,
        "random_signs": False,
        "descriptor_head": "network",
        "descriptor_width": 24,
        "descriptor_dropout": 0.6,
    }
    # Cells some hops apart have no relative orientation.
    signed = {"signed_width": 12}
    # What describes pairs leaves no theta, and needs an output projection.
    pairs = {"pair_width": 8, "pair_steps": 4, "pair_values": 1, "pair_updates": True}
    default = dataclasses.asdict(ArchitectureConfig())
    assert {*changed, *signed, *pairs} == {*default}
    assert not {*changed.items(), *signed.items(), *pairs.items()} & {*default.items()}
    assert dataclasses.asdict(ArchitectureConfig(**pairs)) == {**default, **pairs}
    assert ArchitectureConfig(heads=4, **signed).signed_width == 12
    architecture = ArchitectureConfig(**changed)
    assert dataclasses.asdict(architecture) == {**default, **changed}
    config = ModelConfig.for_batch(cf.collate([ring(4)]), architecture, outputs=2)
    assert config.architecture == architecture
    assert config.data.outputs == 2


def test_a_batch_alone_gets_the_default_architecture(ring):
    batch = cf.collate([ring(4)])
    assert ModelConfig.for_batch(batch) == ModelConfig(ArchitectureConfig(), DataShape.of(batch))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 30}, r"width \(30\) must be a multiple of heads"),
        ({"width": 0}, "width must be at least 1"),
        ({"width": True}, "width must be a whole number, at least 1"),
        ({"layers": -1}, "layers must be"),
        ({"readout_layers": 7}, "halved"),
        ({"feedforward_width": 0}, "feedforward_width"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
        ({"attention_dropout": -0.1}, "attention_dropout"),
        ({"signed_width": -8}, "signed_width must be"),
        ({"signed_width": 12}, r"signed_width \(12\) must be a multiple of heads \(8\)"),
        ({"reach": "0"}, "reach must be numbers of hops from 1 on, or all, .* got '0'"),
        ({"reach": "1,,2"}, "reach must be numbers of hops"),
        ({"reach": "1,2,all"}, r"heads \(8\) must be a multiple of the 3 shares that reach"),
        ({"reach": "2", "signed_width": 8}, "signed_width and reach do not go together"),
        ({"signed_width": 8, "pair_width": 4}, "signed_width and pair_width do not go together"),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_the_field(values, message):
    with pytest.raises(ValueError, match=message):
        ArchitectureConfig(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("pooling='summ'", "unknown pooling 'summ'; did you mean 'sum'"),
        ("readout_cells='vertex'", "did you mean 'vertices'"),
    ],
)
def test_a_misspelt_choice_names_the_nearest_right_one(values, message):
    # In a process of its own, where annotations are not checked before the message is made.
    code = f"from cellformer.model.config import ArchitectureConfig as A; A({values})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert message in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"categories": ((3,),), "continuous": (0, 0)}, "one entry per rank"),
        ({"outputs": 0}, "outputs"),
        ({"encoding": -1}, "encoding"),
        ({"categories": ((-1,),)}, "categories"),
        ({"encoding": 2, "flipping": (0, 2)}, r"columns of the 2 of the encodings.* got \(0, 2\)"),
        ({"flips": True}, "neither vertices nor complexes can be reversed"),
        ({"flips": True, "target_rank": 0}, "neither vertices nor complexes can be reversed"),
    ],
)
def test_an_impossible_data_shape_is_an_error(values, message):
    with pytest.raises(ValueError, match=message):
        DataShape(**values)


def test_the_configuration_survives_json(ring):
    config = ModelConfig.for_batch(cf.collate([ring(4)]), ArchitectureConfig(pooling="mean"))
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


OF_THE_FIRST = {
    "width", "layers", "heads", "feedforward_width", "dropout", "attention_dropout",
    "embedding_dropout", "readout_layers", "readout_dropout", "readout_cells", "pooling",
    "position", "edge_signal", "neighbor_weights", "scale_scores", "projection_bias",
    "output_projection", "theta_per_head", "final_norm", "random_signs",
}  # fmt: skip


def test_the_first_descriptions_are_read():
    shape = {"categories": [[3], [], []], "continuous": [0, 0, 0], "encoding": 4, "outputs": 1}
    now = dataclasses.asdict(ArchitectureConfig(width=16, layers=3))
    first = {name: now[name] for name in OF_THE_FIRST}
    read = ModelConfig.from_dict({"architecture": first, "data": shape})
    without = ArchitectureConfig(width=16, layers=3, descriptor_head="network")
    assert read == ModelConfig(without, DataShape(((3,), (), ()), (0, 0, 0), 4))


def test_a_misspelt_key_of_a_saved_configuration_names_the_nearest_right_one():
    values = ModelConfig().to_dict()
    values["architecture"]["widht"] = values["architecture"].pop("width")
    with pytest.raises(
        ValueError, match=r"field architecture\.widht; did you mean architecture\.width"
    ):
        ModelConfig.from_dict(values)
    del values["architecture"]["widht"]
    with pytest.raises(ValueError, match="architecture lacks width"):
        ModelConfig.from_dict(values)


def test_every_field_is_explained():
    for kind in (ArchitectureConfig, DataShape, ModelConfig):
        for entry in dataclasses.fields(kind):
            assert f"        {entry.name}: " in kind.__doc__


def test_importing_the_configuration_imports_neither_torch_nor_numpy():
    code = (
        "import sys, cellformer.model.config as c; c.ModelConfig(); "
        "sys.exit(' '.join({'torch', 'numpy', 'scipy'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
