"""In processes of their own: the checks of shapes in signatures cannot be compiled."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

import cellformer as cf
from cellformer.complexes import examples
from cellformer.training.loop.compiling import compile_layers
from tiny import with_training

SCRIPT = """
import torch
from torch._dynamo.utils import counters
import cellformer as cf
from cellformer.complexes import examples
from cellformer.training.loop.compiling import compile_layers

torch.set_num_threads(1)
made = [examples.path(4), examples.triangle(filled=False), examples.vertex(), examples.path(6)]
batches = [cf.collate(made[:number]) for number in (4, 2, 3)]
small = cf.ArchitectureConfig(width=8, layers=2, heads=2, attention_dropout=0.0)
config = cf.ModelConfig.for_batch(batches[0], small)

def gradients(model, batch):
    model.zero_grad(set_to_none=True)
    torch.manual_seed(1)
    output = model(batch)
    output.sum().backward()
    # What the last layer does to ranks that are not read out has no gradient, or one of zeros.
    return [output, *(torch.zeros(1) if p.grad is None else p.grad for p in model.parameters())]

# The last layer of a pairwise model leaves out what is not read out.
for attention, kinds in (("pairwise-sparse", 2), ("general-sparse", 1)):
    torch.manual_seed(0)
    model = cf.CellularTransformer(config, cf.attention_plan(attention, max_rank=1))
    names = list(model.state_dict())
    expected = [gradients(model, batch) for batch in batches]
    compile_layers(model, backend="aot_eager")
    graphs = counters["stats"]["unique_graphs"]
    for batch, right in zip(batches, expected, strict=True):
        for mine, theirs in zip(gradients(model, batch), right, strict=True):
            torch.testing.assert_close(mine, theirs.expand_as(mine))
    assert counters["stats"]["unique_graphs"] == graphs + kinds, (attention, counters)
    assert not counters["graph_break"], (attention, counters)
    assert list(model.state_dict()) == names
"""


def test_one_graph_serves_all_layers_and_batches_and_computes_the_same():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=200)


@pytest.mark.parametrize("attention", ["pairwise-mixed", "pairwise-dense", "general-dense"])
def test_dense_attention_is_refused_before_there_is_a_folder(attention, tiny, tmp_path):
    config = replace(with_training(tiny, compile=True), attention=attention)
    with pytest.raises(ValueError, match="compile does not work with dense attention"):
        cf.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_so_is_that_of_a_model():
    batch = cf.collate([examples.house()])
    config = cf.ModelConfig.for_batch(batch, cf.ArchitectureConfig(width=8, layers=1, heads=2))
    with pytest.raises(ValueError, match="sparse everywhere, such as general-sparse"):
        compile_layers(cf.CellularTransformer(config, cf.general_dense()))


def test_without_a_compiler_the_error_says_what_is_missing():
    program = """
import cellformer as cf
from cellformer.complexes import examples
from cellformer.training.loop.compiling import CompilerMissingError, compile_layers

batch = cf.collate([examples.house()])
config = cf.ModelConfig.for_batch(batch, cf.ArchitectureConfig(width=8, layers=1, heads=2))
try:
    compile_layers(cf.CellularTransformer(config, cf.general_sparse()))
except CompilerMissingError as error:
    print(error)
"""
    environment = {
        **os.environ,
        "CXX": "/nowhere/compiler",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True,
        timeout=200, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("training.compile needs what torch.compile needs")
