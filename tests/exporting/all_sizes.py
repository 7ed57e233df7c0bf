"""What is traced once serves all sizes: run as a process of its own with one of the CASES.

The checks of shapes in signatures would be traced too, and double the time that it takes.
"""

import sys
from pathlib import Path

import torch

import cellformer as cf
from cellformer.complexes import examples
from cellformer.data.dataset import Task
from cellformer.exporting import export
from cellformer.exporting.program import Program
from cellformer.training.runs.scaling import Scaling

CASES = {
    "torch": (
        export._as_torch,
        "pairwise-mixed",
        {"norm": "batch", "degree_scaling": "log", "sign_invariant": True},
    ),
    "onnx": (export._as_onnx, "general-sparse", {"pair_width": 4, "reach": "2"}),
}


def check(case):
    write, name, options = CASES[case]
    made = [
        cf.encode(each, cf.parse_encodings("bspe+hodgelap", 3))
        for each in (examples.house(), examples.path(4), examples.vertex(), examples.triangle())
    ]
    torch.manual_seed(0)
    chosen = cf.ArchitectureConfig(width=8, layers=1, heads=2, **options)
    config = cf.ModelConfig.for_batch(cf.collate(made), chosen)
    model = cf.CellularTransformer(config, cf.attention_plan(name)).eval()
    task = Task("regression", ("y",), "mae")
    program, folder = Program([model], [Scaling.none(1)], task), Path("a run")
    traced = export.traced_of(program, folder)
    _, answer = write(traced, program, {}, folder)
    for numbers in ([0, 1, 2, 3], [1], [2], [2, 2], [0], [3, 2]):
        batch = [made[number] for number in numbers]
        with torch.no_grad():
            expected = model(cf.collate(batch))
        found = answer(program.inputs.tensors(cf.collate(batch)))["prediction"]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


if __name__ == "__main__":
    torch.set_num_threads(1)
    check(sys.argv[1])
