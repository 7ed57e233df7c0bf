import functools
import importlib.util
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from cellformer.data.identity import identity
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.lifting.induced_cycles import InducedCycles


@dataclass(frozen=True)
class Choice:
    size: int
    table: object = ()


def by_name(graph):
    return graph


def with_closure(value):
    return lambda graph: (graph, value)


def test_equal_choices_have_equal_texts_and_others_do_not():
    assert identity(InducedCycles()) == identity(InducedCycles())
    choices = [
        InducedCycles(),
        InducedCycles(max_length=7),
        RWBSPe(8),
        RWBSPe(9),
        Choice(1),
        Choice(2),
        Choice(1, (1, "a")),
        Choice(1, {"a": 1}),
        Choice(1, {"a": 1.0}),
        Choice(1, np.arange(3)),
        Choice(1, np.arange(4)),
        Choice(1, np.arange(3.0)),
        Choice(1, by_name),
        by_name,
        with_closure(1),
        with_closure(2),
        lambda graph: graph + 1,
        lambda graph: graph + 2,
        functools.partial(by_name, 1),
        functools.partial(by_name, 2),
        (RWBSPe(8), RWBSPe(9)),
        (RWBSPe(9), RWBSPe(8)),
        {1, 2},
        {1, 3},
    ]
    texts = [identity(choice) for choice in choices]
    assert None not in texts
    assert len(set(texts)) == len(texts)


class Opaque:
    def __call__(self, graph):
        return graph


@pytest.mark.parametrize(
    "choice",
    [
        Opaque(),
        Opaque().__call__,
        Choice(1, Opaque()),
        [Opaque()],
        {"a": Opaque()},
        with_closure(Opaque()),
        functools.partial(by_name, Opaque()),
        np.array([object()]),
        len,
    ],
)
def test_what_cannot_be_told_apart_has_no_text(choice):
    assert identity(choice) is None


def load(file, name):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_an_edited_helper_of_a_users_function_changes_its_text(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "my_lifting.py"
    source = (
        "LIMIT = 3\ndef helper(graph): return LIMIT\ndef lifting(graph): return helper(graph)\n"
    )
    file.write_text(source)
    first = identity(load(file, "my_lifting").lifting)
    assert first == identity(load(file, "my_lifting").lifting)
    file.write_text(source.replace("LIMIT = 3", "LIMIT = 4"))
    assert identity(load(file, "my_lifting").lifting) not in (None, first)


def test_a_function_without_a_file_has_no_text():
    scope = {"__name__": "a_notebook"}
    exec("def lifting(graph): return graph", scope)
    assert identity(scope["lifting"]) is None
