import json

import pytest

from cellformer.cli.commands.reproduce import seeds_by_set, seeds_in
from cellformer.cli.main import main
from cellformer.training.config import RunConfig

FAST = ["--model.width", "16", "--model.layers", "1", "--model.heads", "2", "--epochs", "1",
        "--training.device", "cpu", "--attentions", "general-sparse"]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("1", (0,)), ("3", (0, 1, 2)), ("0,2", (0, 2)), ("4,", (4,)), (" 1, 5 ", (1, 5))],
)
def test_seeds_are_a_number_or_a_list(text, seeds):
    assert seeds_in(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "-1", "a", "1,b", ","])
def test_other_seeds_are_refused(text):
    with pytest.raises(ValueError, match="--seeds must be"):
        seeds_in(text)


def test_seeds_of_some_sets_stand_beside_those_of_all():
    sets = ["zinc", "a=b.csv"]
    assert seeds_by_set([], sets) == (None, {})
    assert seeds_by_set(["2", "zinc=0,3"], sets) == ((0, 1), {"zinc": (0, 3)})
    assert seeds_by_set(["a=b.csv=1"], sets) == (None, {"a=b.csv": (0,)})
    for words, reason in (
        (["molhiv=1"], "'molhiv' must be one of the data sets, once: zinc, a=b.csv"),
        (["zinc=1", "zinc=2"], "'zinc' must be one of the data sets, once"),
        (["1", "2"], "says twice"),
        (["zinc="], "must be a number of seeds"),
    ):
        with pytest.raises(ValueError, match=reason):
            seeds_by_set(words, sets)


def test_a_part_of_the_grid_is_trained_once_and_collected(molecules_npz, tmp_path, capsys):
    command = ["reproduce", "--datasets", str(molecules_npz), "-o", str(tmp_path / "results"),
               "--encodings", "zeros", "rwpe:2", *FAST]  # fmt: skip
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| general-sparse | rwpe:2 |" in first
    run = tmp_path / "results/molecules/general-sparse/rwpe2/seed-0"
    config = RunConfig.from_json(run / "config.json")
    assert (config.model.width, config.training.epochs) == (16, 1)
    changed = (run / "summary.json").stat().st_mtime_ns

    assert main([*command, "--collect", str(tmp_path / "kept")]) == 0
    assert first.splitlines()[:6] == capsys.readouterr().out.splitlines()[:6]
    assert (run / "summary.json").stat().st_mtime_ns == changed
    assert main(["reproduce", "--tables-only", "-o", str(tmp_path / "kept")]) == 0
    assert first.splitlines()[:6] == capsys.readouterr().out.splitlines()[:6]

    assert main([*command, "--training.batch_size", "3"]) == 1
    assert "training.batch_size 64, and now it is to be 3" in capsys.readouterr().err


def test_a_failed_cell_gives_code_1_and_the_rest_is_trained(molecules_npz, tmp_path, capsys):
    (tmp_path / "torn.npz").write_text("no archive")
    command = ["reproduce", "--datasets", str(molecules_npz), str(tmp_path / "torn.npz"), "-o",
               str(tmp_path / "results"), "--encodings", "zeros", *FAST]  # fmt: skip
    assert main(command) == 1
    told = capsys.readouterr()
    assert "torn/general-sparse/zeros/seed-0 failed: " in told.err
    assert "failed [1]" in told.out
    assert (tmp_path / "results/molecules/general-sparse/zeros/seed-0/summary.json").exists()


def test_a_configuration_file_sets_the_same_values(molecules_npz, tmp_path, capsys):
    path = tmp_path / "grid.yaml"
    path.write_text(
        f"datasets: ['{molecules_npz}']\nencodings: [zeros]\nattentions: [general-sparse]\n"
        "model: {width: 8, heads: 2}\ntraining: {max_minutes: 3}\n"
    )
    assert main(["reproduce", "--config", str(path), "--dry-run", "-o", str(tmp_path / "r"),
                 "--model.layers", "2"]) == 0  # fmt: skip
    told = capsys.readouterr().out
    assert "molecules/general-sparse/zeros/seed-0: to train" in told
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model.widht", "3"], "did you mean --model.width"),
        (["--attentions", "general"], "general"),
        (["--training.seed", "3"], "--training.seed"),
    ],
)
def test_what_cannot_be_parsed_is_told_with_code_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_help_leaves_the_fields_to_their_own_groups(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help-all"])
    told = capsys.readouterr().out
    assert "--dry-run" in told
    assert "==SUPPRESS==" not in told
    assert "--training.seed" not in told
    assert told.index("model: values other than") < told.index("--model.layers")


def test_tables_of_nothing_are_refused(tmp_path, capsys):
    assert main(["reproduce", "--tables-only", "-o", str(tmp_path / "none")]) == 1
    assert "no results folder" in capsys.readouterr().err


def test_a_summary_holds_where_it_comes_from(molecules_npz, tmp_path):
    main(["train", str(molecules_npz), "-o", str(tmp_path / "run"), *FAST[:6],
          "--training.epochs", "1", "--training.device", "cpu"])  # fmt: skip
    told = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert len(told["sessions"]) == 1
    assert set(told["sessions"][0]) == {"began", "source", "versions", "machine"}
