"""Labels of vertices and edges in PyG's data, from `Data` to a trained run."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

import cellformer as cf
from cellformer.data.named.benchmark_set import posing
from cellformer.data.sources import open_source
from cellformer.data.splitting.cell_split import split_cells_as
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import predict
from cellformer.training.train import train
from tiny import tiny_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of torch.jit
    from torch_geometric.data import Data

CLUB = nx.karate_club_graph()
MEMBERS = np.array([data["club"] == "Officer" for _, data in CLUB.nodes(data=True)], int)
PAIRS = np.array(CLUB.edges)
MASKS = {f"{part}_mask": torch.arange(34) % 3 == number
         for number, part in enumerate(("train", "val", "test"))}  # fmt: skip


def club(**more):
    both = np.concatenate([PAIRS, PAIRS[:, ::-1]])
    return Data(edge_index=torch.from_numpy(both.T.copy()), num_nodes=34, **more)


def molecules(real_data, count=6):
    """Real molecules with a label for every bond: whether it is in a ring."""
    table = pd.read_csv(real_data / "extra/esol_delaney-processed.csv.gz")
    graphs = [cf.Graph.from_smiles(text) for text in table["smiles"][:count]]
    return [cf.to_pyg(graph) for graph in graphs], graphs


def test_labels_and_masks_of_one_graph_are_targets_of_its_vertices_and_their_split(tmp_path):
    data = club(y=torch.from_numpy(MEMBERS), **MASKS)
    opened = cf.from_pyg_dataset([data])
    assert (opened.task.rank, opened.task.kind) == (0, "binary")
    assert opened.targets[:, 0].tolist() == MEMBERS.tolist()
    assert opened.cell_split["val"].tolist() == list(range(1, 34, 3))

    torch.save(data, tmp_path / "club.pt")
    summary = train(tiny_run(tmp_path / "club.pt"), tmp_path / "run")
    assert summary.complexes == {"train": 1, "val": 1, "test": 1}
    split = pd.read_csv(tmp_path / "run/split.csv")
    assert split["row"].tolist() == [0] * 34
    assert split["part"].tolist() == [("train", "val", "test")[cell % 3] for cell in range(34)]
    kept = pd.read_csv(tmp_path / "run/predictions.csv").sort_values("cell")
    assert kept["truth"].tolist() == [m for cell, m in enumerate(MEMBERS) if cell % 3]
    told = predict(tmp_path / "run", str(tmp_path / "club.pt"))
    assert told["cell"].tolist() == list(range(34))
    assert "accuracy" in evaluate(tmp_path / "run")["scores"]
    right = (told["prediction"] == MEMBERS).mean()
    scores = evaluate(tmp_path / "run", str(tmp_path / "club.pt"))["scores"]
    assert scores["accuracy"] == pytest.approx(right, abs=1e-6)


def test_without_masks_for_validation_some_of_the_training_vertices_validate(tmp_path):
    chosen = {key: mask for key, mask in MASKS.items() if key != "val_mask"}
    opened = cf.from_pyg_dataset([club(y=torch.from_numpy(MEMBERS), **chosen)])
    train(tiny_run("club"), tmp_path / "run", data=opened)
    split = pd.read_csv(tmp_path / "run/split.csv")
    assert split["part"].value_counts().to_dict() == {"train": 10, "test": 11, "val": 2}
    assert set(split["cell"][split["part"] == "val"] % 3) == {0}


def test_both_directions_of_an_edge_have_one_label(real_data, tmp_path):
    items, graphs = molecules(real_data)
    for item, graph in zip(items, graphs, strict=True):
        ring = graph.edge_features.discrete[:, 2].astype(float) + 0.5
        item.y = torch.from_numpy(np.concatenate([ring, ring]))
    opened = cf.from_pyg_dataset(items)
    assert (opened.task.rank, opened.task.kind) == (1, "regression")
    assert np.diff(opened.cell_offsets).tolist() == [graph.num_edges for graph in graphs]
    wanted = np.concatenate([graph.edge_features.discrete[:, 2] for graph in graphs]) + 0.5
    assert opened.targets[:, 0].tolist() == wanted.tolist()
    train(tiny_run("molecules"), tmp_path / "run", data=opened)
    assert set(pd.read_csv(tmp_path / "run/split.csv")["part"]) >= {"train", "val"}
    items[2].y[0] = 9
    with pytest.raises(ValueError, match="item 2: the two directions of the edge between"):
        cf.from_pyg_dataset(items)


def test_edge_labels_of_named_pairs_leave_other_edges_without_a_target():
    data = club(edge_label=torch.tensor([1, 0]), edge_label_index=torch.from_numpy(PAIRS[[5, 3]].T))
    data.edge_label_index = data.edge_label_index.flip(0)
    opened = cf.from_pyg_dataset([data])
    assert opened.task.rank == 1
    assert opened.labeled().tolist() == [2]
    assert opened.targets[[3, 5], 0].tolist() == [0, 1]
    data.edge_label_index = torch.tensor([[0, 0], [1, 33]])
    with pytest.raises(ValueError, match="vertices 0 and 33 have an edge label, but edge_index"):
        cf.from_pyg_dataset([data])


def test_what_does_not_fit_is_named():
    y = torch.from_numpy(MEMBERS)
    two = {key: torch.stack([mask, mask], 1) for key, mask in MASKS.items()}
    for more, words in (
        (two, r"train_mask has 2 columns.*data.train_mask\[:, 0\]"),
        ({"train_mask": torch.ones(5)}, r"train_mask has the shape \(5,\) for 34 labels"),
        ({"train_mask": MASKS["val_mask"], "val_mask": MASKS["val_mask"]},
         "label 1 is in train_mask and in val_mask"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            cf.from_pyg_dataset([club(y=y, **more)])
    with pytest.raises(ValueError, match="y has 34 rows for 156 columns of edge_index"):
        cf.from_pyg_dataset([club(y=y)], of="edges")
    assert cf.from_pyg_dataset([club(y=y.float())], of="graphs").task.rank is None


def test_a_file_is_told_whose_labels_it_has_and_a_run_finds_its_own_again(tmp_path):
    """y of vertices beside edge_label: the latter unless data.targets_of says otherwise."""
    file = tmp_path / "both.pt"
    label = torch.from_numpy(PAIRS.sum(axis=1) % 2)
    data = club(y=torch.from_numpy(MEMBERS), edge_label=label, **MASKS)
    data.edge_label_index = torch.from_numpy(PAIRS.T.copy())
    torch.save(data, file)
    with pytest.raises(ValueError, match="train_mask has the shape"):  # of the vertices
        open_source(file)
    opened = open_source(file, targets_of="vertices")
    assert opened.targets[:, 0].tolist() == MEMBERS.tolist()
    for key in MASKS:
        del data[key]
    torch.save(data, file)
    assert open_source(file).task.rank == 1
    again = open_source(file, task=opened.task)
    assert again.targets[:, 0].tolist() == MEMBERS.tolist()
    with pytest.raises(ValueError, match="are graphs, vertices or edges, not bonds"):
        open_source(file, targets_of="bonds")
    with pytest.raises(ValueError, match="of use to a table and to PyG's data only, and 'zinc'"):
        open_source("zinc", targets_of="vertices")


def test_a_split_of_whole_graphs_overrules_masks():
    item = club(y=torch.from_numpy(MEMBERS), **MASKS)
    opened = cf.from_pyg_dataset([item] * 3, split={"train": [0], "val": [1], "test": [2]})
    assert opened.cell_split is None
    assert opened.split["test"].tolist() == [2]


def test_parts_of_cells_keep_only_their_own_targets():
    opened = cf.from_pyg_dataset([club(y=torch.from_numpy(MEMBERS), **MASKS)])
    parted = split_cells_as(opened, opened.cell_split)
    known = np.isfinite(parted.targets[:, 0]).reshape(3, 34)
    assert (known.sum(0) == 1).all()
    assert (known.argmax(0) == np.arange(34) % 3).all()
    assert [parted.graph(row).num_edges for row in range(3)] == [78] * 3


def test_masks_of_cells_give_way_to_a_random_split_that_is_asked_for(tmp_path):
    opened = cf.from_pyg_dataset([club(y=torch.from_numpy(MEMBERS), **MASKS)])
    train(tiny_run("club", split="random"), tmp_path / "run", data=opened)
    split = pd.read_csv(tmp_path / "run/split.csv")
    assert split["part"].value_counts().to_dict() == {"train": 27, "val": 3, "test": 4}
    with pytest.raises(ValueError, match=r"fractions is of no use, as .* brings its own split"):
        train(tiny_run("club", fractions=(0.5, 0.3, 0.2)), tmp_path / "no", data=opened)


def test_classes_keep_their_numbers_in_a_source_that_lacks_some_of_them():
    wide = cf.from_pyg_dataset([club(y=torch.arange(34) % 5)])
    narrow = cf.from_pyg_dataset([club(y=torch.arange(34) % 3 + 2)])
    posed = posing(narrow, None, wide.task)
    assert posed.targets[:, 0].tolist() == [cell % 3 + 2 for cell in range(34)]
    with pytest.raises(ValueError, match=r"has the classes \(0, 1, 2, 3, 4\), the trained model"):
        posing(wide, None, narrow.task)


def test_flows_along_both_directions_of_an_edge_are_those_of_the_graphs_edges():
    pairs = np.array([(1, 0), (0, 1), (2, 1)])
    y = torch.tensor([2.0, -2.0, 5.0])
    data = Data(edge_index=torch.from_numpy(pairs.T.copy()), num_nodes=3, y=y,
                edge_attr_signed=y[:, None])  # fmt: skip
    opened = cf.from_pyg_dataset([data], of="edges", flips=True)
    assert opened.task.flips
    assert opened.graph(0).edges.tolist() == [[0, 1], [1, 2]]
    assert opened.targets[:, 0].tolist() == [-2, -5]
    assert opened.graph(0).edge_features.signed[:, 0].tolist() == [-2, -5]
    with pytest.raises(ValueError, match="vertices 1 and 0 have labels that do not agree"):
        cf.from_pyg_dataset([data], of="edges")
    with pytest.raises(ValueError, match="only targets of vertices or edges flip"):
        cf.from_pyg_dataset([data], of="graphs", flips=True)
