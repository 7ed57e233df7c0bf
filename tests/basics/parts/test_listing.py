import sys

import pytest

from cellformer.basics.parts.listing import own_parts
from cellformer.basics.parts.trust import allow_parts
from own_parts import TEXT

MORE = """
import enum

from cellformer.lifting.rings import Rings


class Color(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Sized:
    size: int

    def __call__(self, cells):
        return cells


@dataclass(frozen=True)
class Planned:
    diagram: cf.TensorDiagram

    def relations(self, dim):
        return ()

    def layer(self, options):
        return nn.Identity()

    def through(self, layers, cells, patterns, vertices_only):
        return cells


class Layer(nn.Module):
    def forward(self, cells, patterns):
        return cells


def _hidden(graph):
    return graph


def triangles(graph, longest=3):
    return cf.lift(graph, Rings(longest))


def helper(numbers):
    return numbers
"""


@pytest.fixture
def named(tmp_path, module, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = f"listed_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(TEXT + MORE)
    allow_parts(str(tmp_path / f"{name}.py"))
    yield name
    sys.modules.pop(name)


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("lifting", ["SmallRings", "triangles"]),
        ("encoding", ["Degrees", "Sized"]),
        ("attention", ["near", "Twice", "Planned"]),
        ("readout", ["Largest"]),
        ("loss", ["cubed", "worst"]),
        ("metric", ["cubed", "worst"]),
        ("reader", ["read"]),
    ],
)
def test_public_parts_are_listed_by_what_they_are_called_with(kind, parts, named):
    assert own_parts(kind) == tuple(f"{named}:{part}" for part in parts)


def test_parts_of_a_package_are_listed_where_they_are_defined(tmp_path, monkeypatch, module):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / f"listed_package_{tmp_path.name}"
    package.mkdir()
    inner, unseen = f"{package.name}.inner", f"{package.name}.unseen"
    (package / "__init__.py").write_text("from .inner import fill\n\n\ndef own(graph): ...\n")
    (package / "inner.py").write_text("def fill(graph): ...\n\n\ndef other(graph): ...\n")
    (package / "unseen.py").write_text("def never(graph): ...\n")
    allow_parts(package.name)
    assert own_parts("lifting") == (f"{inner}:fill", f"{package.name}:own")
    assert unseen not in sys.modules
    for name in (inner, package.name):
        sys.modules.pop(name)


def test_nothing_is_listed_before_a_module_is_named(module):
    assert own_parts("lifting") == ()
