"""Words that anyone would try, and what is said where they mean nothing."""

import re

import pandas as pd
import pytest
import torch

import cellformer as cf
from cellformer.cli.help import SHORT
from cellformer.cli.main import build_parser, main
from cellformer.cli.parsing import Parser
from cellformer.cli.spelling import spelled

NEEDED = {
    "train": ["nci"], "tune": ["nci", "--space", "x"], "baseline": ["gin", "nci", "-o", "x"],
    "reproduce": [],
}  # fmt: skip
VALUES = {
    "--epochs": "3",
    "--batch-size": "7",
    "--lr": "0.5",
    "--seed": "9",
    "--device": "cpu",
    "--from": "runs/before",
}
OWN = {("tune", "--seed"), ("reproduce", "--seed"), ("reproduce", "--epochs")}
"""Where the name is an option of the command itself, or there are several seeds."""


def parsed(command, *words):
    given = [command, *NEEDED[command], *words]
    return build_parser(given).parse_args(spelled(given, Parser.vocabulary))[command]


@pytest.mark.parametrize("command", list(NEEDED))
@pytest.mark.parametrize("short", list(SHORT))
def test_a_short_name_is_the_field(command, short):
    if (command, short) in OWN:
        return
    for name in (short, short.replace("-", "_").replace("__", "--", 1)):
        found = parsed(command, name, VALUES[short])
        assert str(found[SHORT[short]]) == VALUES[short]


def test_hyphens_and_underscores_are_alike_and_values_are_left_alone():
    known = ("--data.smiles_column", "--smiles-column", "--help")
    given = ["predict", "a_b", "--smiles_column=x_y", "--data.smiles-column", "--other-one", "z"]
    assert spelled(given, known) == [
        "predict", "a_b", "--smiles-column=x_y", "--data.smiles_column", "--other-one", "z",
    ]  # fmt: skip
    assert spelled(["train", "--help-all"], known) == ["train", "--help"]


@pytest.mark.parametrize("words", [["--version"], ["train", "--version"], ["info", "--version"]])
def test_every_command_tells_the_version(words, capsys):
    assert main(words) == 0
    assert capsys.readouterr().out == f"cellformer {cf.__version__}\n"


def help_of(command, capsys, option="--help"):
    with pytest.raises(SystemExit):
        main([command, option])
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["train", "tune", "reproduce"])
def test_help_shows_what_is_common_and_names_the_help_with_all(command, capsys):
    told, whole = help_of(command, capsys), help_of(command, capsys, "--help-all")
    assert f"cellformer {command} --help-all lists every option" in told
    for option in ("--lr PEAK_RATE, --optimizer.peak_rate", "--batch-size", "--device", "--config"):
        assert option in told
        assert option in whole
    for option in ("--data.lifting", "--model.pair_width", "--training.keep_state", "--import"):
        assert option not in told
        assert option in whole
    assert "--help-all" not in whole
    assert "--data.source" not in whole  # the argument says it


@pytest.mark.parametrize("command", ["train", "predict", "draw", "explore"])
def test_help_says_each_choice_and_default_once_and_no_types(command, capsys):
    told = " ".join(help_of(command, capsys, "--help-all").split())
    assert "type:" not in told
    assert "default: null" not in told.replace("(default: null) --smiles-column", "")
    for choices in set(re.findall(r"\{([\w,-]+)\}", told)):
        assert f"Literal[{choices.split(',')[0]!r}" not in told


@pytest.mark.parametrize(
    ("words", "hint", "never"),
    [
        (["train", "nci", "--epoch", "3"], "--epochs", "fetch"),
        (["train", "nci", "--training.epoch", "3"], "--training.epochs", "auto"),
        (["predict", "r", "x", "--interv", "0.9"], "--interval", "info"),
        (["predict", "r", "x", "--weights", "lst"], "last", "lift"),
        (["explore", "r", "--prot", "1"], "--port", "report"),
        (["reproduce", "--seed", "1"], "--seeds", "train"),
        (["prepair", "nci"], "prepare", "--"),
    ],
)
def test_an_option_is_written_whole_and_a_suggestion_is_the_command_s_own(
    words, hint, never, capsys
):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1
    suggested = told.partition("did you mean ")[2]
    assert suggested.strip() == f"{hint}?"
    assert never not in suggested.removeprefix(hint)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {"smiles": [f"{'C' * n}O" for n in range(1, 13)], "y": range(12), "z": range(12)}
    pd.DataFrame(rows).to_csv("t.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("several", [[], ["--folds", "3"], ["--ensemble", "2"]])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "say which column of t.csv is to be learned, by --target (data.target): 'smiles'"),
        (["--target", "yy"], "no column 'yy'; did you mean 'y'?"),
        (["--target", "y", "--device", "gpu"], "PyTorch finds no GPU"),
        (["--target", "y", "--training.logger", "wandb"], "pip install wandb"),
        (["--target", "y", "--attention", "pairwise-sparse", "--model.theta_per_head", "true"],
         "theta_per_head"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_leaves_no_folder(words, told, several, table, capsys,
                                                    monkeypatch):  # fmt: skip
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("cellformer.training.loop.loggers.find_spec", lambda name: None)
    assert main(["train", "t.csv", "-o", "run", *words, *several]) == 1
    error = capsys.readouterr().err
    assert told in error
    assert len([line for line in error.splitlines() if line.startswith("cellformer:")]) == 1
    assert "Traceback" not in error
    assert not (table / "run").exists()


def test_a_search_on_this_machine_is_refused_a_device_that_it_lacks(table, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = ["tune", "t.csv", "--target", "y", "--space", "s.yaml", "-o", "run", "--device", "gpu"]
    assert main(words) == 1
    assert "PyTorch finds no GPU" in capsys.readouterr().err
    assert not (table / "run").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("prepare nci --retries 1", "--retries is of use with --ray only"),
        ("reproduce --cpus 2", "--cpus is of use with --ray only"),
        ("reproduce --tables-only --gpus 1", "--gpus is of use with --ray only"),
        ("evaluate run t.csv --part val", "--part is one of the run's own data"),
        ("evaluate run --smiles-column s", "of use with data to score only"),
        ("evaluate run --on-error fail", "of use with data to score only"),
        ("lift CCO --batch-size 3", "--batch-size is of use with --estimate only"),
        ("predict run t.csv --calibrate t.csv -o out/p.csv", "there is no folder out"),
    ],
)
def test_an_option_that_a_command_would_ignore_is_refused(words, told, table, capsys):
    assert main(words.split()) == 1
    assert told in capsys.readouterr().err
    assert sorted(path.name for path in table.iterdir()) == ["t.csv"]


def test_predictions_come_from_the_device_and_in_the_batches_that_are_asked_for(
    table, capsys, monkeypatch
):
    words = "--epochs 1 --model.width 8 --model.heads 2 --model.layers 1 --data.lifting skeleton"
    assert main(["train", "t.csv", "--target", "y", "-o", "run", *words.split()]) == 0
    from cellformer.training.answers import predictor

    sizes = []
    whole = predictor.batches
    monkeypatch.setattr(
        predictor, "batches", lambda *given, **named: sizes.append(given[2]) or
        whole(*given, **named),
    )  # fmt: skip
    capsys.readouterr()
    assert main(["predict", "run", "CCO", "CCCO", "--batch-size", "1", "--device", "cpu"]) == 0
    assert main(["evaluate", "run", "--batch-size", "3"]) == 0
    cf.load(table / "run", batch_size=5).predict(["CCO"])
    assert sizes == [1, 3, 5]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["predict", "run", "CCO", "--device", "gpu"]) == 1
    assert "PyTorch finds no GPU" in capsys.readouterr().err
