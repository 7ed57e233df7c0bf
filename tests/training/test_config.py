import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig


def test_a_written_configuration_reads_back_equal(tiny, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(asdict(tiny)))
    assert RunConfig.from_json(path) == tiny


@pytest.mark.parametrize("value", ["auto", True, False])
def test_a_choice_that_is_a_truth_value_or_a_word_keeps_its_type(value, tiny, tmp_path):
    chosen = replace(tiny, training=replace(tiny.training, resident=value))
    path = tmp_path / "config.json"
    path.write_text(json.dumps(asdict(chosen)))
    assert RunConfig.from_json(path).training.resident is value or value == "auto"
    assert RunConfig.from_json(path) == chosen


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"modle": {}}, "no field modle; did you mean model"),
        ({"model": {"widht": 3}}, r"no field model.widht; did you mean model.width"),
        ({"model": 3}, "model must be a mapping"),
        ({"model": {"width": "wide"}}, "width"),
        ({"model": {"width": 30, "heads": 4}}, "width"),
        ({"training": {"epochs": 0}}, "epochs must be at least 1"),
        ({"training": {"resident": "sometimes"}}, "resident"),
        ([], "must be a mapping"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(values, message, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=message) as caught:
        RunConfig.from_json(path)
    assert "config.json" in str(caught.value)


def test_a_file_that_is_not_json_is_named(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"config.json cannot be read as JSON"):
        RunConfig.from_json(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DataConfig(fractions=(0.5, 0.1, 0.1)), "fractions"),
        (lambda: DataConfig(max_length=2), "max_length must be at least 3"),
        (lambda: DataConfig(max_length=5, lifting="cycle-basis"), "no use .* cycle-basis"),
        (lambda: DataConfig(ring_features=True, lifting="skeleton"), "ring_features needs 2-cells"),
        (lambda: DataConfig(workers=-1), "workers"),
        (lambda: OptimizerConfig(warmup=1.0), "warmup"),
        (lambda: OptimizerConfig(peak_rate=0.0), "peak_rate"),
        (lambda: TrainingConfig(patience=0), "patience"),
        (lambda: TrainingConfig(batch_size=0), "batch_size"),
        (lambda: TrainingConfig(batch_cells=0), "batch_cells"),
        (lambda: TrainingConfig(resident=True, loader_workers=1), "loader_workers"),
        (lambda: RunConfig(attention="pairwise-mix"), "did you mean 'pairwise-mixed'"),
    ],
)
def test_values_out_of_range_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_importing_the_configuration_does_not_import_torch():
    program = "import sys, cellformer.training.config; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
