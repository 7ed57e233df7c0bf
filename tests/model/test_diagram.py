import json
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import cellformer as cf
from cellformer.complexes.matrices import containment, down_adjacency, incidence, up_adjacency
from cellformer.model.relations.diagram import Arrow, TensorDiagram, paper_diagram


def vertices_to_faces(cells):
    return sparse.csr_array(incidence(cells, 2).T @ incidence(cells, 1).T)


def test_the_paper_has_seven_arrows():
    arrows = {(a.sender, a.receiver, a.neighborhood) for a in paper_diagram().arrows}
    assert arrows == {
        (0, 0, "up"),
        (1, 1, "down"),
        (2, 2, "down"),
        (0, 1, "incidence"),
        (1, 0, "incidence"),
        (1, 2, "incidence"),
        (2, 1, "incidence"),
    }


@pytest.mark.parametrize("max_rank", [0, 1, 2, 3, 5])
def test_the_paper_diagram_exists_in_any_dimension(max_rank):
    diagram = paper_diagram(max_rank)
    assert diagram.max_rank == max_rank
    assert len(diagram.arrows) == 1 + 3 * max_rank


def test_matrices_have_a_row_per_receiver_and_a_column_per_sender(cliques):
    cells = cliques(0)
    b2 = abs(cells.boundaries[1].toarray())
    assert np.array_equal(Arrow(2, 1, "incidence").matrix(cells).toarray(), b2)
    assert np.array_equal(Arrow(1, 2, "incidence").matrix(cells).toarray(), b2.T)
    up = Arrow(0, 0, "up").matrix(cells).toarray()
    down = Arrow(2, 2, "down").matrix(cells).toarray()
    assert np.array_equal(up, up_adjacency(cells, 0).toarray())
    assert np.array_equal(down, down_adjacency(cells, 2).toarray())
    own = Arrow(0, 2, vertices_to_faces).matrix(cells).toarray()
    assert own.shape == (cells.num_cells[2], cells.num_cells[0])


def test_the_block_matrix_has_the_arrows_matrices_as_its_blocks(cliques):
    cells = cliques(1)
    diagram = TensorDiagram((*paper_diagram().arrows, Arrow(1, 1, "up")))
    whole = diagram.block_matrix(cells).toarray()
    starts = np.concatenate([[0], np.cumsum(cells.num_cells)])
    for receiver in range(3):
        for sender in range(3):
            block = whole[
                starts[receiver] : starts[receiver + 1], starts[sender] : starts[sender + 1]
            ]
            expected = sum(
                (
                    arrow.matrix(cells).toarray()
                    for arrow in diagram.arrows
                    if (arrow.sender, arrow.receiver) == (sender, receiver)
                ),
                start=np.zeros(block.shape),
            )
            assert np.array_equal(block, expected)


def test_the_block_matrix_of_a_lower_complex_skips_the_ranks_that_it_lacks(path):
    cells = path(3)
    assert paper_diagram(3).block_matrix(cells).shape == (5, 5)
    assert paper_diagram(3).block_matrix(path(1)).shape == (1, 1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 0, "incidence"), "ranks start at 0"),
        ((0, 1, "up"), "adjacency joins cells of one rank"),
        ((0, 0, "down"), "vertices have no lower adjacency"),
        ((0, 2, "incidence"), "consecutive"),
        ((1, 1, "incidence"), "consecutive"),
        ((0, 1, "incidense"), "did you mean 'incidence'"),
    ],
)
def test_an_arrow_that_makes_no_sense_is_an_error(values, message):
    with pytest.raises(ValueError, match=message):
        Arrow(*values)


def test_a_diagram_needs_arrows_and_each_only_once():
    with pytest.raises(ValueError, match="at least one"):
        TensorDiagram(())
    with pytest.raises(ValueError, match="the arrow 0 -> 0 twice"):
        TensorDiagram((Arrow(0, 0, "up"), Arrow(0, 0, "up", dense=True)))


def test_a_function_that_returns_another_shape_is_an_error(cliques):
    with pytest.raises(ValueError, match=r"arrow 2 -> 0 returned a matrix of shape .*, expected"):
        Arrow(2, 0, vertices_to_faces).matrix(cliques(0))


def test_the_matrix_that_a_function_returned_is_not_touched():
    kept = sparse.csr_array((np.array([2, 3]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    cells = cf.CellComplex.from_boundaries([], 2)
    matrix = Arrow(0, 0, lambda _: kept).matrix(cells)
    assert matrix.toarray().tolist() == [[0, 5], [0, 0]]
    assert kept.data.tolist() == [2, 3]


def test_a_diagram_survives_json_unless_a_neighborhood_has_no_name():
    diagram = paper_diagram(3)
    assert TensorDiagram.from_dict(json.loads(json.dumps(diagram.to_dict()))) == diagram
    named = Arrow(2, 0, partial(containment, low=0, high=2))
    kept = {"part": "cellformer.complexes.matrices:containment"}
    assert named.to_dict()["neighborhood"] == kept | {"arguments": {"low": 0, "high": 2}}
    again = Arrow.from_dict(json.loads(json.dumps(named.to_dict())))
    assert (again.neighborhood.func, again.neighborhood.keywords) == (
        containment,
        {"low": 0, "high": 2},
    )
    with pytest.raises(ValueError, match=r"lambda.* cannot be kept with a run"):
        TensorDiagram((Arrow(0, 2, lambda cells: cells),)).to_dict()
