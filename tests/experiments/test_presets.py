import pytest

from cellformer.experiments.presets import PRESETS, flatten

# The paper's table of architectures.
TABLE = {
    "gcb-hard": (12, 80, 80, 8, 256, 350, 3e-4, 0.01, 1, 0.1),
    "molhiv": (12, 768, 768, 32, 1024, 200, 2e-4, 1e-5, 3, 0.0),
    "zinc": (12, 96, 96, 8, 256, 10_000, 2e-4, 0.01, 2, 0.0),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_preset_holds_the_papers_values(name):
    preset = PRESETS[name]
    found = (
        preset.model.layers, preset.model.width, preset.model.inner_width, preset.model.heads,
        preset.training.batch_size, preset.training.epochs, preset.optimizer.peak_rate,
        preset.optimizer.weight_decay, preset.model.readout_layers, preset.model.readout_dropout,
    )  # fmt: skip
    assert found == TABLE[name]
    assert preset.optimizer.warmup * preset.training.epochs == {
        "gcb-hard": 35, "molhiv": 20, "zinc": 1000,
    }[name]  # fmt: skip
    assert preset.model.attention_dropout == 0.1
    assert (preset.model.dropout, preset.model.embedding_dropout) == (0, 0)
    assert preset.optimizer.clip_norm == 5
    assert (preset.data.lifting, preset.data.encoding_size) == ("cycle-basis", 8)


def test_the_default_is_independent_of_the_labeling():
    assert PRESETS["default"].data.lifting != "cycle-basis"
    assert PRESETS["default"].model.edge_signal == "sum"


def test_flattened_names_are_dotted_fields():
    flat = flatten(PRESETS["zinc"])
    assert flat["model.width"] == 96
    assert flat["attention"] == PRESETS["zinc"].attention
    assert all("." in name or name == "attention" for name in flat)
