import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cellformer.basics.lost import LostProcessError
from cellformer.cli.commas import with_brackets
from cellformer.cli.main import build_parser, main
from cellformer.cli.parsing import suggestion
from faulty_server import Server, serving
from tiny import write_molecules

FAST = ["--model.width", "16", "--model.layers", "1", "--model.heads", "2", "--training.epochs",
        "1", "--training.device", "cpu", "--data.encodings", "rwpe:2"]  # fmt: skip


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "table.csv"
    rows = ["C", "CC", "CCC", "CCO", "C1CC1", "CO", "CN", "c1ccccc1", "CCCC", "C1CC", "CCN", "CS"]
    lines = [f"m{number},{text},{len(text)}" for number, text in enumerate(rows)]
    path.write_text("name,smiles,length\n" + "\n".join(lines) + "\n")
    return path


def test_help_does_not_import_torch():
    program = (
        "import sys; from cellformer.cli.main import main\n"
        "try: main(['train', '--help-all'])\n"
        "except SystemExit: pass\n"
        "sys.exit('torch' in sys.modules or 'rdkit' in sys.modules or 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--model.width" in done.stdout


@pytest.mark.parametrize(
    "command", ["fetch", "train", "evaluate", "predict", "lift", "encode", "info"]
)
def test_every_option_of_every_command_is_explained(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help-all"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "<class" not in printed
    lines = printed.splitlines()
    for number, line in enumerate(lines):
        if line.lstrip().startswith("--") and "CONFIG" not in line and "print_config" not in line:
            told = line.split(maxsplit=2)[2:] + lines[number + 1 : number + 2]
            assert "".join(told).strip(" ("), line


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["train", "nci", "--model.widht", "3"], "--model.width"),
        (["train", "nci", "--trainig.epochs", "3"], "--training.epochs"),
        (["trian", "nci"], "train"),
        (["predict", "a", "b", "--wieghts", "best"], "--weights"),
        (["predict", "a", "b", "--weights", "bst"], "best"),
        (["train", "nci", "--epoch", "3"], "--epochs"),
        (["train", "nci", "--training.epoch", "3"], "--training.epochs"),
    ],
)
def test_a_misspelt_word_gets_the_nearest_right_one(arguments, hint, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert f"did you mean {hint}?" in capsys.readouterr().err


def test_without_a_command_the_commands_are_named(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "train" in capsys.readouterr().err


def test_a_misspelt_key_in_a_file_gets_the_nearest_right_one(tmp_path, capsys):
    path = tmp_path / "config.yaml"
    path.write_text("model: {widht: 3}\n")
    with pytest.raises(SystemExit):
        main(["train", "nci", "--config", str(path)])
    assert "config.yaml: there is no field model.widht" in (told := capsys.readouterr().err)
    assert "did you mean model.width?" in told


def test_a_file_may_give_one_target_as_a_word(csv_file, tmp_path, capsys):
    path = tmp_path / "config.yaml"
    path.write_text("target: lenght\n")
    assert main(["train", str(csv_file), "--config", str(path), *FAST]) == 1
    assert "no column 'lenght'; did you mean 'length'" in capsys.readouterr().err


def test_a_message_without_an_unknown_word_gets_no_hint():
    assert suggestion("Expected a number. Got value: aa", ["--model.width"]) == ""
    assert suggestion("unrecognized arguments: --zzzzzz", ["--model.width"]) == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model.width", "30", "--model.heads", "4"], "must be a multiple of heads"),
        (["--training.epochs", "0"], "epochs must be at least 1"),
        (["--data.encodings", "bspee"], "unknown encoding 'bspee'; did you mean 'bspe'"),
    ],
)
def test_values_that_do_not_fit_end_with_a_line_and_code_2(arguments, message, capsys):
    assert main(["train", "nci", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "ncii"], "did you mean 'nci'"),
        (["train", "missing.csv"], "missing.csv"),
        (["train"], "give either a source"),
        (["evaluate", "nowhere"], "is not a run folder"),
        (["lift", "C1CC"], "C1CC"),
        (["encode", "CCO", "--index", "7"], "has no row 7"),
    ],
)
def test_input_that_fails_ends_with_a_line_and_code_1(arguments, message, capsys):
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert message in captured.err + captured.out
    assert "Traceback" not in captured.err


def test_a_table_goes_from_training_to_predictions(csv_file, tmp_path, capsys, caplog, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(csv_file), "--target", "length", *FAST]) == 0
    assert "best validation epoch" in capsys.readouterr().out
    assert "1 of 12 rows of table have no complex, for example row 9" in caplog.text
    assert json.loads(Path("runs/table/summary.json").read_text())["rows_without_complex"] == 1
    failures = pd.read_csv("runs/table/failures.csv")
    assert failures["row"].tolist() == [9]

    assert main(["evaluate", "runs/table", str(csv_file)]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]

    assert main(["predict", "runs/table", str(csv_file), "-o", "out.csv"]) == 0
    assert "1 of 12 rows could not be predicted" in capsys.readouterr().err
    frame = pd.read_csv("out.csv")
    assert frame["name"].tolist() == [f"m{number}" for number in range(12)]
    error = (frame["prediction"] - frame["length"])[frame["error"].isna()].abs().mean()
    assert scores["mae"] == pytest.approx(error, rel=1e-4)

    assert main(["predict", "runs/table", str(csv_file), "-o", "out.csv"]) == 1
    assert "--overwrite" in capsys.readouterr().err

    assert main(["predict", "runs/table", str(csv_file), "-o", "new/out.csv"]) == 1
    assert "there is no folder new" in capsys.readouterr().err
    assert not Path("new").exists()

    assert main(["predict", "runs/table", "CCC", "C1CC", "CO"]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert printed["smiles"].tolist() == ["CCC", "C1CC", "CO"]
    assert printed["prediction"].iloc[0] == pytest.approx(frame["prediction"].iloc[2], rel=1e-4)
    for words, told in (
        (["new.cvs"], "no file or folder new.cvs"),
        (["C1CC"], "unclosed ring"),
        (["CC", "mols/x.abc"], "no file or folder"),
        (["CC", "mols/x.smi"], "a source"),
        (["CC", "nci"], "a source"),
    ):
        assert main(["predict", "runs/table", *words]) == 1
        assert told in capsys.readouterr().err

    assert main(["train", str(csv_file), "--target", "length", *FAST]) == 0
    assert Path("runs/table-2/summary.json").exists()


def test_a_table_without_a_chosen_target_says_what_to_do(csv_file, tmp_path, capsys):
    assert main(["train", str(csv_file), "-o", str(tmp_path / "run"), *FAST]) == 1
    assert "say which column of" in capsys.readouterr().err
    assert main(["train", str(csv_file), "--target", "lenght", *FAST]) == 1
    assert "did you mean 'length'" in capsys.readouterr().err


def test_flags_override_a_file_and_a_file_overrides_a_preset(tmp_path):
    write_molecules(tmp_path / "molecules.npz", np.arange(24.0))
    config = tmp_path / "config.yaml"
    config.write_text("model: {layers: 1, width: 24}\ntraining: {epochs: 1}\n")
    run = tmp_path / "run"
    arguments = ["train", str(tmp_path / "molecules.npz"), "-o", str(run), "--preset", "zinc",
                 "--config", str(config), "--model.width", "16"]  # fmt: skip
    assert main(arguments) == 0
    written = json.loads((run / "config.json").read_text())
    assert written["model"]["width"] == 16  # the flag
    assert written["model"]["layers"] == 1  # the file
    assert written["optimizer"]["peak_rate"] == 2e-4  # the preset
    assert written["data"]["lifting"] == "cycle-basis"


def test_lift_prints_statistics_and_draws(tmp_path, capsys):
    for name in ("picture.png", "picture.svg"):
        assert main(["lift", "c1ccc2ccccc2c1", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_size > 5000
    told = capsys.readouterr().out
    assert "rank 0: 10 cells" in told
    assert "rank 1: 11 cells" in told
    assert "rank 2: 2 cells" in told


def test_lift_shows_a_mesh(real_data, capsys):
    assert main(["lift", str(real_data / "extra" / "mesh_ant.ply")]) == 0
    told = capsys.readouterr().out
    assert "rank 0: 486 cells" in told
    assert "rank 2: 912 cells" in told


def test_draw_shows_bspe_unless_asked_for_another(tmp_path):
    pictures = []
    for number, asked in enumerate(
        ([], ["--data.encodings", "bspe"], ["--data.encodings", "rwbspe+rwpe"])
    ):
        path = tmp_path / f"{number}.png"
        assert main(["draw", "CC(=O)Nc1ccc(O)cc1", *asked, "-o", str(path)]) == 0
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_draw_makes_every_kind_of_picture(csv_file, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["train", str(csv_file), "--target", "length", "-o", str(run), *FAST]) == 0
    of_run = ["--run", str(run), "--theme", "dark"]
    for number, arguments in enumerate(
        (
            ["c1ccccc1", "--data.encodings", "bspe", "--columns", "0", "1", "2"],
            ["c1ccccc1", "--lay-out", "--title", "$5 <b>"],
            ["--what", "diagram", "--attention", "pairwise-mixed"],
            ["--what", "diagram", *of_run],
            ["c1ccccc1", "--what", "cochains", "--data.encodings", "bspe:2", "--theme", "dark"],
            [str(csv_file), "--index", "2", "--what", "subdivision"],
            ["c1ccccc1", "--what", "transitions", "--cell", "1:5"],
            ["c1ccccc1", "--what", "attention", "--arrow", "1->2", "--head", "0", *of_run],
            ["c1ccccc1", "--what", "attention", "--form", "matrix", "--layer", "0", *of_run],
            ["c1ccccc1", "--what", "contributions", *of_run],
            ["c1ccccc1", "--what", "contributions", "--method", "gradients", *of_run],
            [str(csv_file), "--index", "2", "--what", "contributions", *of_run],
        )
    ):
        path = tmp_path / f"picture{number}.{'svg' if number % 2 else 'png'}"
        assert main(["draw", *arguments, "-o", str(path)]) == 0, arguments
        assert path.stat().st_size > 4000
    capsys.readouterr()
    for arguments, message in (
        (["c1ccccc1", "--what", "attention"], "name a run by --run"),
        (["--what", "complex"], "say what to draw"),
        (["c1ccccc1", "--what", "attention", "--layer", "9", *of_run], "it has the layers 0 to"),
        (["CC", "--what", "transitions", "--cell", "4"], "--cell must be a rank and a number"),
        (["CC", "--cell", "0:0"], "--cell is of no use with --what complex"),
        (["C1CC", "--what", "contributions", *of_run], "C1CC"),
    ):
        assert main(["draw", *arguments, "-o", str(tmp_path / "never.png")]) == 1
        assert message in capsys.readouterr().err
    assert main(["draw", "C", "-o", str(tmp_path / "never.txt")]) == 1
    assert not list(tmp_path.glob("never*"))


def test_encode_writes_one_row_per_cell(tmp_path):
    path = tmp_path / "table.csv"
    assert main(["encode", "C1CC1", "-o", str(path), "--data.encodings", "rwpe:3+bspe:2"]) == 0
    table = pd.read_csv(path)
    assert table["rank"].tolist() == [0] * 3 + [1] * 3 + [2]
    assert table["vertices"].tolist()[-1] == "0 1 2"
    assert list(table.columns[3:]) == ["RWPe_0", "RWPe_1", "RWPe_2", "BSPe_0", "BSPe_1"]
    assert np.isfinite(table.iloc[:, 3:]).all(axis=None)


def test_fetch_lists_and_describes_the_sets_and_refuses_others(capsys, monkeypatch):
    monkeypatch.delenv("CELLFORMER_DATA", raising=False)
    assert main(["fetch"]) == 0
    listed = capsys.readouterr().out
    assert "zinc " in listed
    assert "molhiv" in listed
    assert main(["fetch", "molhiv", "--card"]) == 0
    assert "hiv.zip" in capsys.readouterr().out
    assert main(["fetch", "molhvi"]) == 1
    assert "did you mean 'molhiv'" in capsys.readouterr().err


def test_fetch_downloads_into_a_folder_that_training_uses(tmp_path, monkeypatch, capsys):
    rows = ["CCO,-1.5", "CC,2", "CCC,2.5", "CO,-5", "CCCC,2.1", "C,2", "CN,-4"] * 91 + ["CF,-1"] * 5
    table = "smiles,expt\n" + "\n".join(rows) + "\n"
    with serving(Server(table.encode(), ["truncate"])) as url:
        arguments = ["fetch", "freesolv", "--folder", str(tmp_path / "data"), "--mirror", url]
        assert main(arguments) == 0
    assert "license" in capsys.readouterr().out
    monkeypatch.setenv("CELLFORMER_DATA", str(tmp_path / "data"))
    assert main(["train", "freesolv", "-o", str(tmp_path / "run"), *FAST]) == 0
    assert "test rmse" in capsys.readouterr().out


def test_a_set_that_is_not_here_ends_with_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CELLFORMER_DATA", raising=False)
    assert main(["train", "zinc", "-o", str(tmp_path / "run"), *FAST]) == 1
    assert "Run: cellformer fetch zinc" in capsys.readouterr().err
    with serving(Server(b"x", ["404"] * 9)) as url:
        assert main(["fetch", "zinc", "--mirror", url]) == 1
    assert "answered 404" in capsys.readouterr().err


def test_info_tells_versions(capsys):
    assert main(["info"]) == 0
    told = capsys.readouterr().out
    assert "cellformer" in told
    assert "torch" in told
    assert "GPUs" in told


def test_lift_estimates_what_a_set_will_take(tmp_path, capsys):
    path = str(write_molecules(tmp_path / "set.npz", np.arange(24.0)))
    assert main(["lift", "--estimate", path]) == 0
    told = capsys.readouterr().out
    assert "24 rows; counted on all of them" in told
    assert "InducedCycles(max_length=8" in told
    assert "for 24 complexes with general-sparse, 4 layers of width 64" in told
    arguments = ["--preset", "zinc", "--attention", "general-dense", "--batch_size", "7"]
    assert main(["lift", path, "--estimate", *arguments]) == 0
    told = capsys.readouterr().out
    assert "lifting: CycleBasis" in told
    assert "for 7 complexes with general-dense, 12 layers of width 96" in told
    assert main(["lift", "--estimate", "C1CC"]) == 1
    assert "no molecule either: 'C1CC' is not a SMILES" in capsys.readouterr().err


def test_an_ensemble_and_a_cross_validation_from_the_command_line(csv_file, tmp_path, capsys):
    common = ["train", str(csv_file), "--target", "length", *FAST]
    run = str(tmp_path / "seeds")
    assert main([*common, "--ensemble", "2", "-o", run, "--data.fractions", "[0.4,0.3,0.3]"]) == 0
    told = capsys.readouterr().out
    assert "seed-1: val mae" in told
    assert "all together: test mae" in told
    assert main(["train", "--resume", run]) == 0
    assert capsys.readouterr().out == told
    assert main(["predict", run, str(csv_file), "--interval", "0.5"]) == 0
    assert capsys.readouterr().out.startswith(
        "name,smiles,length,prediction,uncertainty,lower,upper,error\n"
    )
    assert main(["evaluate", run, str(csv_file), "--interval", "0.5"]) == 0
    assert json.loads(capsys.readouterr().out)["interval"]["level"] == 0.5
    assert main([*common, "--folds", "3", "-o", str(tmp_path / "folds")]) == 0
    assert "mean: test mae" in capsys.readouterr().out
    assert main([*common, "--folds", "3", "--ensemble", "2"]) == 1
    assert main(["predict", run, str(csv_file), "-o", str(tmp_path / "out.txt")]) == 1
    assert "does not end in .csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["--data.fractions", "0.7,0.1,0.2"], ["--data.fractions", "[0.7,0.1,0.2]"]),
        (["--data.descriptors=T, p"], ['--data.descriptors=["T", "p"]']),
        (["--data.target", "10"], ["--data.target", '["10"]']),
        (["--data.target", "['a,b']"], ["--data.target", "['a,b']"]),
        (["--training.class_weights", "equal"], ["--training.class_weights", "equal"]),
        (["--data.target", "--data.workers", "2"], ["--data.target", "--data.workers", "2"]),
        (["--target", "a,b", "--data.target"], ["--target", "a,b", "--data.target"]),
    ],
)
def test_several_values_are_given_with_commas(given, read):
    assert with_brackets(["train", *given]) == ["train", *read]
    if "[" in "".join(read):
        build_parser(["train"]).parse_args(["train", *read])


def test_class_weights_and_weights_that_do_not_fit(csv_file, tmp_path, capsys):
    lines = csv_file.read_text().splitlines()
    rows = [f"{line},{'long' if number % 3 else 'short'}" for number, line in enumerate(lines)]
    csv_file.write_text("\n".join([f"{lines[0]},size", *rows[1:]]) + "\n")
    common = ["train", str(csv_file), "--target", "size", "-o", str(tmp_path / "run"), *FAST]
    common += ["--data.fractions", "0.4,0.3, 0.3"]
    assert main([*common, "--training.class_weights=1.0,2.0,3.0"]) == 1
    assert "3 numbers for 2 classes (long, short)" in capsys.readouterr().err
    for weights in ("balanced", "[1.0,2.0]"):
        folder = str(tmp_path / weights)
        assert main([*common[:5], folder, *common[6:], "--training.class_weights", weights]) == 0
        assert main(["evaluate", folder]) == 0
    written = json.loads((tmp_path / "[1.0,2.0]" / "config.json").read_text())
    assert written["training"]["class_weights"] == [1.0, 2.0]


def test_a_lost_process_is_told_in_a_line(monkeypatch, capsys):
    def lost(arguments):
        raise LostProcessError("a process was killed; do it again")

    monkeypatch.setattr("cellformer.cli.commands.lift.run", lost)
    assert main(["lift", "C"]) == 1
    assert capsys.readouterr().err == "cellformer: a process was killed; do it again\n"
