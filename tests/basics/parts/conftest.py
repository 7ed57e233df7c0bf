import sys

import pytest

from cellformer.basics.parts import trust

TEXT = """
from dataclasses import dataclass
from os import remove

@dataclass(frozen=True)
class Scale:
    by: float = 2.0
    inner: object = None

    def __call__(self, value):
        return self.by * value

def shift(value, by=1):
    return value + by
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that can be imported and that nobody has named yet."""
    name = f"own_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(trust, "_allowed", {})
    yield name
    sys.modules.pop(name, None)
