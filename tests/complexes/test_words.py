import re

import numpy as np
import pytest
import torch

import cellformer as cf


@pytest.fixture(scope="module")
def toluene():
    return cf.lift(cf.Graph.from_smiles("Cc1ccccc1"), cf.InducedCycles(max_length=8))


def test_a_graph_a_complex_a_batch_and_a_set_are_one_line(toluene):
    assert repr(cf.Graph.from_smiles("CCO")) == "Graph('CCO', 3 vertices, 2 edges)"
    assert repr(toluene) == "CellComplex('Cc1ccccc1', 7 vertices, 7 edges, 1 ring)"
    encoded = cf.encode(toluene, [cf.RWPe(4)])
    assert repr(encoded).endswith("1 ring; encodings of 4 columns)")
    batch = cf.collate([encoded, encoded])
    assert repr(batch) == "CellBatch(2 complexes: 14 vertices, 14 edges, 2 2-cells, on cpu)"
    many = cf.complex_set([toluene], name="mine")
    assert repr(many) == "GraphSet('mine', 1 row, nothing to learn)"
    assert repr(cf.Graph.from_edges([], 0)) == "Graph(0 vertices, 0 edges)"
    long = cf.Graph.from_edges([(0, 1)], name="x" * 500)
    assert len(repr(long)) < 120


def test_the_faces_of_a_mesh_are_called_faces():
    mesh = cf.mesh_complex(np.eye(3), [[0, 1, 2]])
    assert repr(mesh) == "CellComplex(3 vertices, 3 edges, 1 face)"


def test_a_model_is_one_line_with_its_size(toluene):
    batch = cf.collate([toluene])
    config = cf.ModelConfig.for_batch(batch, cf.ArchitectureConfig(width=16, layers=1, heads=2))
    model = cf.CellularTransformer(config, cf.general_sparse())
    count = sum(each.numel() for each in model.parameters())
    assert repr(model) == (
        f"CellularTransformer(1 layer of width 16, 2 heads, ranks 0 to 2, 1 output, "
        f"{count:,} parameters)"
    )
    assert isinstance(model, torch.nn.Module)


def test_a_notebook_shows_a_molecule_as_chemists_draw_it(toluene):
    for shown in (cf.Graph.from_smiles("Cc1ccccc1O"), toluene):
        svg = shown._repr_svg_()
        assert svg.startswith("<svg")
        assert svg.rstrip().endswith("</svg>")
    assert toluene._repr_svg_() == toluene._repr_svg_()


def test_a_name_that_is_another_molecule_s_gives_no_false_picture(toluene):
    from dataclasses import replace

    from cellformer.drawing.notebook import _of_molecule

    told = _of_molecule(toluene)
    assert told["positions"].shape == (7, 2)
    assert told["labels"] == [""] * 7
    assert sorted(told["orders"]) == [1.0] + [1.5] * 6
    assert _of_molecule(replace(toluene, name="CCCCCCC")) == {}
    assert _of_molecule(replace(toluene, name="a mesh")) == {}


def test_what_is_too_large_or_empty_has_no_picture():
    path = [(number, number + 1) for number in range(1500)]
    assert cf.Graph.from_edges(path)._repr_svg_() is None
    assert cf.Graph.from_edges([], 0)._repr_svg_() is None
    assert re.match("<svg", cf.Graph.from_edges([(0, 1)])._repr_svg_())
