import pytest

from cellformer.complexes.graph import Graph
from cellformer.data.readers.npz import write_npz
from cellformer.data.sources import open_source, source_names


def test_names_and_paths_open_what_they_say(tmp_path):
    assert open_source("nci").name == "nci"
    write_npz(tmp_path / "mine.npz", [Graph.from_edges([(0, 1)])], y=[1.5])
    assert open_source(str(tmp_path / "mine.npz")).task.targets == ("y",)
    (tmp_path / "mine.csv").write_text("drug,a,b\nCCO,1.5,2.5\n")
    graphs = open_source(tmp_path / "mine.csv", target="b", smiles_column="drug", metric="rmse")
    assert (graphs.task.targets, graphs.task.metric) == (("b",), "rmse")
    assert graphs.targets.tolist() == [[2.5]]
    both = open_source(tmp_path / "mine.csv", target=["b", "a"], smiles_column="drug")
    assert both.targets.tolist() == [[2.5, 1.5]]


@pytest.mark.parametrize(
    ("name", "near"),
    [("zink", "zinc"), ("gcb-hrd", "gcb-hard"), ("nothing like it", None)],
)
def test_an_unknown_name_gets_the_nearest_one_and_the_command_that_lists_all(name, near):
    with pytest.raises(ValueError, match="there is no data source") as error:
        open_source(name)
    told = str(error.value)
    assert near is None or f"did you mean '{near}'?" in told
    assert "cellformer fetch lists" in told
    assert len(told) < 240
    assert sum(known in told for known in source_names()) < 6


def test_a_file_of_another_kind_is_told_with_the_kinds_that_are_read(tmp_path):
    (tmp_path / "reg.xls").write_bytes(b"x")
    with pytest.raises(
        ValueError, match=r"reg\.xls: files of this kind are not read.*\.sdf"
    ) as told:
        open_source(tmp_path / "reg.xls")
    assert "no data source" not in str(told.value)


def test_options_that_a_source_has_no_use_for_are_refused(tmp_path):
    with pytest.raises(ValueError, match="target cannot be chosen"):
        open_source("gcb-hard-small", target="y")
    write_npz(tmp_path / "mine.npz", [Graph.from_edges([(0, 1)])], y=[1.5])
    with pytest.raises(ValueError, match="no SMILES column"):
        open_source(tmp_path / "mine.npz", smiles_column="smiles")


def test_graph_sets_know_whether_they_have_smiles(tmp_path):
    (tmp_path / "mine.csv").write_text("smiles\nCCO\n")
    assert open_source(tmp_path / "mine.csv").smiles == ("CCO",)
    with pytest.raises(ValueError, match="use a random split"):
        _ = open_source("gcb-easy-small").smiles
