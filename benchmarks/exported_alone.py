"""Predicts from an exported file and a prepared batch, ``python -I`` with FILE, BATCH and OUT.

Run by a Python that has PyTorch or ONNX Runtime and nothing of this project.
"""

import sys
from importlib.util import find_spec

import numpy as np


def main(model: str, asked: str, out: str) -> None:
    """Writes ``row`` and what the program tells, and the modules that were there to help."""
    assert find_spec("cellformer") is None, "the package is here"
    batch = dict(np.load(asked))
    row = batch.pop("row")
    if model.endswith(".onnx"):
        import onnxruntime

        assert find_spec("torch") is None, "PyTorch is here"
        session = onnxruntime.InferenceSession(model)
        names = [each.name for each in session.get_outputs()]
        told = dict(zip(names, session.run(names, batch), strict=True))
    else:
        import torch

        program = torch.export.load(model).module()
        with torch.no_grad():
            answer = program({name: torch.from_numpy(array) for name, array in batch.items()})
        told = {name: values.numpy() for name, values in answer.items()}
    np.savez(out, row=row, **told)


if __name__ == "__main__":
    main(*sys.argv[1:])
