import re
from pathlib import Path

import pytest
import torch

import cellformer as cf

README = Path(__file__).parents[1] / "README.md"


def test_the_python_of_the_readme_runs_as_written():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
        assert len(names["value"]) == 2
        assert torch.isfinite(torch.as_tensor(names["value"])).all()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyG's own use of it
def test_every_public_name_is_there_and_documented():
    for name in cf.__all__:
        value = getattr(cf, name)
        assert value.__doc__ or name in ("PRESETS", "Lifting"), name
