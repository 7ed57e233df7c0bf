import json
import sys
from functools import partial

import pytest

from cellformer.basics.parts.stored import from_json, to_json, versions
from cellformer.basics.parts.trust import PartRefusedError, allow_parts
from cellformer.complexes.matrices import up_adjacency
from cellformer.encodings.rwpe import RWPe
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.own_cells import OwnCells
from cellformer.model.plans.pairwise import pairwise_mixed
from cellformer.model.relations.diagram import Arrow


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 0.5, "x", (1, (2, "a")), RWPe(5), up_adjacency,
        OwnCells(InducedCycles(max_length=6)), pairwise_mixed(3), Arrow(2, 2, up_adjacency),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_of_this_package_come_back_from_json(value):
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


def test_parts_of_one_s_own_come_back_if_their_module_was_named(module):
    allow_parts(module)
    own = sys.modules[module]
    part = own.Scale(3.0, partial(own.shift, by=2))
    kept = json.loads(json.dumps(to_json([part, own.shift])))
    back, function = from_json(kept)
    assert (back.by, back.inner(1), function) == (3.0, 3, own.shift)
    told = versions(kept)
    assert list(told) == [module]
    assert len(told[module]["sha256"]) == 64


def test_parts_of_others_are_refused_and_not_imported(module):
    with pytest.raises(PartRefusedError, match=r"the part .*:Scale is code of"):
        from_json({"part": f"{module}:Scale", "arguments": {}})
    assert module not in sys.modules


@pytest.mark.parametrize(
    "value",
    [
        {"part": "cellformer.basics.files:replace_atomically", "arguments": {}},
        {"part": "cellformer.lifting.mesh:Path", "arguments": {}},
        {"part": "cellformer.lifting.mesh:mesh_complex", "arguments": {}},
        {"part": "cellformer.lifting.nowhere:X", "arguments": {}},
        {"part": "cellformer.complexes.matrices:np", "arguments": {}},
        {"part": "cellformer.cli.main:main", "arguments": {}},
        {"part": "cellformer:train", "arguments": {}},
        {"part": "rings", "arguments": {}},
        {"part": "os:remove"},
        {"other": 1},
    ],
)
def test_a_hostile_file_names_nothing_else(value):
    with pytest.raises(ValueError, match=r"that a run may name|describes no part|no module:Name"):
        from_json(value)


def test_what_could_not_be_found_again_is_refused():
    for value, message in (
        (lambda graph: graph, "at the top of a module"),
        (object(), "cannot be kept with a run"),
        (sys, "cannot be kept with a run"),
    ):
        with pytest.raises(ValueError, match=message):
            to_json(value)


def test_arguments_that_do_not_fit_are_told():
    with pytest.raises(ValueError, match="RWPe has no argument 'sizes'; did you mean 'size'"):
        from_json({"part": "cellformer.encodings.rwpe:RWPe", "arguments": {"sizes": 3}})
