import pytest

from cellformer.basics.parts.catalog import Listed
from cellformer.encodings.catalog import ENCODINGS
from cellformer.experiments.grid.grid import Experiment, Grid, configured, jobs_of
from cellformer.experiments.grid.scores import grid_order
from cellformer.experiments.presets import PRESETS, flatten, override
from cellformer.model.catalogs import ATTENTIONS
from grids import put_run


def test_the_whole_grid_is_the_papers():
    assert len(list(Grid())) == 30 * (5 + 1 + 1)
    assert len(list(Grid(seeds=(0,)))) == 90
    assert Grid().encodings == ENCODINGS.names
    assert len({each.name for each in Grid(seeds=(0, 1))}) == 180


def test_a_set_has_its_own_seeds_those_of_all_or_the_papers():
    one = {"attentions": ("general-sparse",), "encodings": ("bspe",)}
    sets = ("gcb-hard", "zinc", "mine.csv")

    def seeds(**given):
        grid = Grid(sets, **one, **given)
        return [tuple(each.seed for each in grid if each.source == name) for name in sets]

    assert seeds() == [(0, 1, 2, 3, 4), (0,), (0,)]
    assert seeds(seeds=(1, 2)) == [(1, 2)] * 3
    assert seeds(seeds_of={"zinc": (4, 7)}) == [(0, 1, 2, 3, 4), (4, 7), (0,)]
    assert seeds(seeds=(3,), seeds_of={"zinc": (4, 7)}) == [(3,), (4, 7), (3,)]
    with pytest.raises(ValueError, match="values that differ"):
        Grid(sets, seeds_of={"zinc": (1, 1)})


def test_a_seed_is_complete_before_the_next_begins():
    grid = Grid(("zinc", "molhiv"), ("general-sparse",), ("bspe", "rwpe"), (0, 1))
    assert [each.name for each in grid][:5] == [
        "zinc/general-sparse/bspe/seed-0",
        "zinc/general-sparse/rwpe/seed-0",
        "zinc/general-sparse/bspe/seed-1",
        "zinc/general-sparse/rwpe/seed-1",
        "molhiv/general-sparse/bspe/seed-0",
    ]


@pytest.mark.parametrize(
    ("source", "encoding", "name"),
    [
        ("folder/my set.csv.gz", "bspe", "my set/general-dense/bspe/seed-3"),
        ("zinc", "rwbspe:16+rwpe", "zinc/general-dense/rwbspe16+rwpe/seed-3"),
        ("zinc", "my/own.py:Pe(size=2)", "zinc/general-dense/my-own.pyPe(size=2)/seed-3"),
    ],
)
def test_a_name_can_be_read_and_is_a_path(source, encoding, name):
    assert Experiment(source, "general-dense", encoding, 3).name == name


def test_an_attention_of_one_s_own_has_a_folder_too():
    each = Experiment("zinc", "my/own.py:Near(k=2, far=True)", "bspe", 0)
    assert each.name == "zinc/my-own.pyNear(k=2,far=True)/bspe/seed-0"


def test_a_new_attention_is_one_of_the_grid_s_from_its_line_in_the_list(monkeypatch):
    monkeypatch.setitem(ATTENTIONS.parts, "one-way", Listed("cellformer.model.plans.named:one_way"))
    assert len(list(Grid(seeds=(0,)))) == 108
    assert Grid().attentions == ATTENTIONS.names
    order = [grid_order((name, "bspe")) for name in (*Grid().attentions, "my.parts:Near")]
    assert order == sorted(order)


@pytest.mark.parametrize(
    "axes",
    [
        {"datasets": ("zinc", "zinc")},
        {"seeds": ()},
        {"datasets": ("a/set.csv", "b/set.npz")},  # their folders would be one
        {"encodings": ("bspe:4", "bspe4")},
    ],
)
def test_values_that_do_not_differ_are_refused(axes):
    with pytest.raises(ValueError, match=r"differ|would have the name"):
        Grid(**axes)


@pytest.mark.parametrize(
    ("source", "preset"),
    [("gcb-hard-small", "gcb-hard"), ("gcb-easy", "gcb-hard"), ("zinc-full", "zinc"),
     ("molhiv", "molhiv"), ("nci", "default"), ("my/zinc.csv", "default")],
)  # fmt: skip
def test_every_data_set_has_the_settings_of_its_kind_but_for_what_is_given(source, preset):
    each = Experiment(source, "pairwise-dense", "hodgelap", 4)
    config = configured(each, {"model.layers": 4, "training.batch_size": 16})
    assert Experiment.of(config) == each
    changed = {
        "data.source": source, "attention": "pairwise-dense", "data.encodings": "hodgelap",
        "training.seed": 4, "model.layers": 4, "training.batch_size": 16,
    }  # fmt: skip
    assert flatten(config) == flatten(PRESETS[preset]) | changed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"training.seed": 3}, "axis of the grid"),
        ({"model.depth": 3}, "there is no field model.depth"),
        ({"model.heads": 7}, "multiple of heads"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        configured(Experiment("zinc", "general-sparse", "bspe", 0), values)


def test_overriding_with_all_values_gives_the_other_configuration():
    for preset in PRESETS.values():
        assert override(PRESETS["default"], flatten(preset)) == preset


def test_results_of_other_settings_are_not_mixed_in(tmp_path):
    put_run(tmp_path, "zinc", "general-sparse", "bspe", test=0.1)
    grid = Grid(("zinc",), ("general-sparse",), ("bspe", "rwpe"))
    jobs = jobs_of(grid, {"training.epochs": 2}, tmp_path)
    assert [job.finished for job in jobs] == [True, False]
    assert jobs[0].folder == tmp_path / "zinc/general-sparse/bspe/seed-0"
    with pytest.raises(ValueError, match=r"training\.epochs 2, and now it is to be 3"):
        jobs_of(grid, {"training.epochs": 3}, tmp_path)
