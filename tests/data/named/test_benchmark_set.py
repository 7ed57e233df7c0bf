import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cellformer.data.named.benchmark_set import RemoteFile, fetch, location, open_named
from cellformer.data.named.cards import page
from cellformer.data.named.catalogue import NAMED_SETS, named_set
from cellformer.data.named.download import FetchError, Patience
from cellformer.data.sources import open_source
from cellformer.training.config import DataConfig
from cellformer.training.materials.preparation import preparation_of
from faulty_server import Server, serving
from raw_sets import Evil, gcb_file, write_ogb, write_tu, zinc_archive, zipped

QUICK = Patience(stall=1.0, attempts=2, pause=0.01)


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without any set."""
    monkeypatch.delenv("CELLFORMER_DATA", raising=False)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    return tmp_path


def get(named, url, **options):
    return fetch(named, mirror=url, patience=QUICK, shown=False, **options)


def files(folder):
    return sorted(
        str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(NAMED_SETS) - {n for n in NAMED_SETS if "gcb" in n}))
def test_a_set_that_is_not_here_says_what_to_do_and_asks_nothing(name, bare):
    with pytest.raises(FileNotFoundError, match=f"cellformer fetch {name}.*CELLFORMER_DATA"):
        open_source(name)


def test_gcb_without_its_file_is_called_regenerated(bare, caplog):
    opened = open_source("gcb-hard-small")
    assert opened.name == "gcb-hard-small (regenerated)"
    assert 'call results "regenerated gcb-hard-small"' in caplog.text


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(ValueError, match="did you mean 'lipo'"):
        named_set("lippo")


def test_a_published_checksum_decides(bare):
    path = gcb_file(bare / "hard_small.npz")
    content = path.read_bytes()
    small = replace(
        NAMED_SETS["gcb-hard-small"], graphs=6, parts=(3, 2, 1),
        remote=(RemoteFile("gcb/hard_small.npz", "https://nowhere.invalid/hard_small.npz",
                           hashlib.sha256(content).hexdigest(), len(content)),),
    )  # fmt: skip
    cache = bare / "cache" / "sets"
    with serving(Server(content, ["wrong"])) as url:
        with pytest.raises(FetchError, match="expected were"):
            get(small, url)
        assert files(cache) == []
        fetched = get(small, url)
    assert files(cache) == ["gcb/hard_small.npz"]
    assert location(small) == fetched
    assert open_named(small).targets[:, 0].tolist() == [0, 1, 2, 0, 1, 0]
    assert get(small, "http://127.0.0.1:9") == fetched  # it is here already: no network


def test_what_cannot_be_read_is_not_kept(bare):
    content = gcb_file(bare / "hard.npz", Evil(bare / "made")).read_bytes()
    hard = replace(NAMED_SETS["gcb-hard"], graphs=6, parts=(3, 2, 1))
    with (
        serving(Server(content)) as url,
        pytest.raises(FetchError, match=r"nothing was kept.*mkdir.*could run code"),
    ):
        get(hard, url)
    assert not (bare / "made").exists()
    assert not location(hard)


def test_another_set_under_the_same_name_is_refused(bare):
    content = gcb_file(bare / "hard.npz").read_bytes()
    with (
        serving(Server(content)) as url,
        pytest.raises(FetchError, match=r"has 6 graphs.* gcb-hard has 1800"),
    ):
        get(NAMED_SETS["gcb-hard"], url)
    assert not location(NAMED_SETS["gcb-hard"])


def test_without_a_published_checksum_the_first_one_is_recorded(bare, caplog):
    hard = replace(NAMED_SETS["gcb-hard"], graphs=6, parts=(3, 2, 1))
    content = gcb_file(bare / "hard.npz").read_bytes()
    with serving(Server(content)) as url:
        get(hard, url)
        assert "No checksum" in caplog.text
        get(hard, url, again=True)
    record = json.loads((bare / "cache/sets/checksums.json").read_text())
    assert record["gcb-hard/gcb/hard.npz"]["sha256"] == hashlib.sha256(content).hexdigest()
    with (
        serving(Server(content + b"\0")) as url,
        pytest.raises(FetchError, match="If you trust the new one"),
    ):
        get(hard, url, again=True)


def test_zinc_is_fetched_and_kept_without_pickles(bare):
    archive = zinc_archive(bare / "molecules.zip").read_bytes()
    zinc = replace(NAMED_SETS["zinc-full"], graphs=6, parts=(2, 2, 2))
    with serving(Server(archive, ["stall"])) as url:
        kept = get(zinc, url)
    assert files(bare / "cache" / "sets") == ["checksums.json", "zinc/zinc_full_graphs.npz"]
    assert kept == location(zinc)
    opened = open_named(zinc)
    assert opened.targets[:, 0].tolist() == [0.5, -1.5] * 3
    assert opened.graph(0).vertex_features.discrete[:, 0].tolist() == [0, 5, 1]


def test_molhiv_is_fetched_as_ogb_publishes_it(bare):
    content = zipped(write_ogb(bare / "hiv"), bare / "hiv.zip").read_bytes()
    molhiv = replace(NAMED_SETS["molhiv"], graphs=3, parts=(1, 1, 1))
    with serving(Server(content)) as url:
        get(molhiv, url)
    opened = open_named(molhiv)
    assert (opened.task.kind, opened.task.metric, opened.task.labels) == (
        "binary",
        "rocauc",
        (0, 1),
    )
    assert opened.graph(2).edges.tolist() == [[0, 1], [1, 2]]
    assert "downloads" not in "".join(files(bare / "cache"))


def test_tu_sets_are_fetched_as_archives(bare):
    content = zipped(write_tu(bare / "MUTAG"), bare / "MUTAG.zip").read_bytes()
    mutag = replace(NAMED_SETS["mutag"], graphs=2)
    with serving(Server(content)) as url:
        get(mutag, url)
    assert open_named(mutag).task.labels == (-1, 1)


def test_a_fetched_folder_serves_as_data_folder(bare, monkeypatch):
    table = "smiles,expt\n" + "CCO,-1.5\n" * 642
    with serving(Server(table.encode())) as url:
        path = get(NAMED_SETS["freesolv"], url, folder=bare / "carried")
    assert path == bare / "carried/moleculenet/SAMPL.csv"
    monkeypatch.setenv("CELLFORMER_DATA", str(bare / "carried"))
    assert open_source("freesolv").task.metric == "rmse"
    assert open_source("freesolv", metric="mae").task.metric == "mae"


def test_a_trained_models_task_is_kept(bare, monkeypatch, real_data):
    monkeypatch.setenv("CELLFORMER_DATA", str(real_data))
    own = open_source("molhiv").task
    assert open_source("molhiv", task=own).task == own
    other = replace(own, targets=("activity",))
    assert open_source("molhiv", task=other).task_or_none is None
    with pytest.raises(ValueError, match="has the classes"):
        open_source("molhiv", task=replace(own, labels=(0, 2)))


def test_the_documentation_shows_the_cards():
    written = Path(__file__).parents[3] / "docs" / "datasets.md"
    assert written.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(
    ("name", "graphs", "parts", "nodes", "edges"),
    [
        ("zinc", 12_000, (10_000, 1_000, 1_000), 277_864, 298_985),
        ("molhiv", 41_127, (32_901, 4_113, 4_113), 1_049_163, 1_129_688),
        ("gcb-hard-small", 300, (245, 29, 26), 17_592, 33_742),
        ("gcb-easy-small", 300, (239, 30, 31), None, None),
        ("gcb-hard", 1_800, (1_442, 173, 185), 268_857, 518_298),
        ("mutag", 188, None, 3_371, 3_721),
        ("proteins", 1_113, None, 43_471, 81_044),
    ],
)
def test_counts_and_splits_are_the_published_ones(name, graphs, parts, nodes, edges, real_data):
    opened = open_source(name)
    flat = opened.graphs
    assert len(opened) == graphs
    if parts is None:
        assert opened.split is None
    else:
        assert tuple(len(opened.split[part]) for part in ("train", "val", "test")) == parts
    if nodes is not None:
        assert (flat.vertex_offsets[-1], flat.edge_offsets[-1]) == (nodes, edges)


@pytest.mark.parametrize(
    ("name", "balance"),
    [
        ("molhiv", {"train": (31_669, 1_232), "val": (4_032, 81), "test": (3_983, 130)}),
        ("gcb-hard-small", {"train": (77, 82, 86), "val": (10, 9, 10), "test": (13, 9, 4)}),
        ("gcb-hard", {"train": (482, 492, 468), "val": (57, 52, 64), "test": (61, 56, 68)}),
        ("mutag", {"all": (63, 125)}),
        ("proteins", {"all": (663, 450)}),
    ],
)
def test_classes_are_as_frequent_as_published(name, balance, real_data):
    opened = open_source(name)
    parts = {"all": slice(None)} if opened.split is None else opened.split
    for part, expected in balance.items():
        classes = opened.targets[parts[part], 0].astype(int)
        assert tuple(np.bincount(classes)) == expected


@pytest.mark.parametrize(
    ("name", "part", "mean", "deviation", "places"),
    [
        ("zinc", "train", 0.0154, 2.0108, 4),
        ("zinc", "val", 0.0315, 1.9855, 3),
        ("zinc", "test", 0.0125, 2.0179, 3),
        ("esol", None, -3.050, 2.096, 3),
        ("freesolv", None, -3.803, 3.848, 3),
        ("lipo", None, 2.186, 1.203, 3),
    ],
)
def test_targets_have_the_published_statistics(name, part, mean, deviation, places, real_data):
    opened = open_source(name)
    values = opened.targets[:, 0] if part is None else opened.targets[opened.split[part], 0]
    assert values.mean(dtype=float) == pytest.approx(mean, abs=0.6 * 10**-places)
    spread = values.std(dtype=float, ddof=0 if name == "zinc" else 1)
    assert spread == pytest.approx(deviation, abs=1.2 * 10**-places)


def test_features_of_new_molecules_are_those_of_the_training_set():
    for source, scheme in (("zinc", "zinc"), ("molhiv", "ogb"), ("my.csv", "standard")):
        assert preparation_of(DataConfig(), source).features == scheme
    assert preparation_of(DataConfig(features="ogb"), "my.csv").features == "ogb"


def test_the_known_conversion_of_a_published_file_is_preferred_to_a_new_draw(
    real_data, bare, monkeypatch
):
    (bare / "data/gcb").mkdir(parents=True)
    for file in ("hard_small_flat.npz", "hard_regenerated_seed0_flat.npz"):
        shutil.copy(real_data / "gcb" / file, bare / "data/gcb" / file)
    monkeypatch.setenv("CELLFORMER_DATA", str(bare / "data"))
    assert open_source("gcb-hard-small").name == "gcb-hard-small"
    assert open_source("gcb-hard").name == "gcb-hard (regenerated)"
