"""What a user may get wrong: each mistake has one line that says what, where and what to do."""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from rdkit import Chem

from cellformer.cli.main import main
from tiny import SMILES

SMALL = (
    "--model.width 8 --model.layers 1 --model.heads 2 --epochs 1 --device cpu "
    "--data.encodings rwpe:2 --data.molecule_descriptors none"
)
ROWS = SMILES[:12]
WORDS = ("train", "val", "holdout")


def table(header, value, separator=","):
    lines = [f"{text}{separator}{value(row)}" for row, text in enumerate(ROWS)]
    return "\n".join([header, *lines]) + "\n"


def atoms(row):
    return Chem.MolFromSmiles(ROWS[row]).GetNumAtoms()


FILES = {
    "t.csv": table("smiles,y,kind,name", lambda row: f"{row}.5,{'ab'[row % 2]},m{row}"),
    "empty.csv": "",
    "header.csv": "smiles,y\n",
    "nameless.csv": "molecule_name,y\nethanol,1.5\n",
    "invalid.csv": "smiles,y\n" + "nonsense,1.5\n" * 12,
    "two.csv": "smiles,y\n" + "CCO,1\nCC;2\n" * 6,
    "twice.csv": table("smiles,y,y", lambda row: f"{row},{row}"),
    "latin.csv": table("smiles,y", lambda row: f"caf\xe9{row % 2}"),
    "units.csv": table("smiles,y", lambda row: f"{row} {'nu'[row % 2]}M"),
    "bounds.csv": table("smiles,y", lambda row: f"{'>' if row == 3 else ''}{row}.5"),
    "points.csv": table("smiles;y", lambda row: "1,5" if row % 2 else "2.5", ";"),
    "one.csv": table("smiles,y", lambda row: "yes"),
    "blank.csv": table("smiles,y", lambda row: ""),
    "few.csv": "smiles,y\nCCO,1.5\nCC,2.5\n",
    "split.csv": table("smiles,y,split", lambda row: f"{row}.5,{WORDS[row % 3]}"),
    "tests.csv": table("smiles,y,split", lambda row: f"{row}.5,test"),
    "warm.csv": table("smiles,y,t", lambda row: f"{row}.5,warm"),
    "letter.docx": "Dear",
    "wrong.yaml": "model: {width: wide}\n",
    "key.yaml": "model: {widht: 3}\n",
    "short.yaml": "epochs: 3\ntraining: {epochs: 4}\n",
    "no_part.yaml": "trainnig: {epochs: 3}\n",
    "above.csv": table("smiles;y", lambda row: "[" + "0.5, " * (atoms(row) - 1) + ">5]", ";"),
    "ppm.csv": table("smiles,y", lambda row: "[0.1 ppm; 2 ppm]"),
    "torn.yaml": "model: {width: [3\n",
    "list.yaml": "- 3\n",
    "null.yaml": 'data: {val_file: "\\0"}\n',
    "wide.yaml": "model: {width: 8}\n",
    "space.yaml": "optimizer.peak_rat: {log_uniform: [1e-5, 1e-2]}\n",
    "part.py": "import nothing_of_that_name\n",
    "mesh.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
    "short.off": "OFF\n3 1 0\n0 0 0\n",
    "torn.npz": "no archive",
}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with all files, a run, and runs that something has happened to."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    np.savez(folder / "other.npz", values=np.arange(3))
    (folder / "notes").mkdir()
    run = folder / "run"
    words = ["train", str(folder / "t.csv"), "--target", "y", *SMALL.split()]
    assert main([*words, "-o", str(run)]) == 0
    dry = ("--model.dropout=0", "--model.attention_dropout=0", "--model.readout_dropout=0")
    assert main([*words, *dry, "-o", str(folder / "dry")]) == 0
    for name in ("lacking", "weightless", "damaged", "edited", "begun", "strange"):
        shutil.copytree(run, folder / name)
    (folder / "lacking" / "model.json").unlink()
    (folder / "weightless" / "best.safetensors").unlink()
    (folder / "begun" / "summary.json").unlink()
    (folder / "damaged" / "config.json").write_text('{"model": ')
    text = (run / "config.json").read_text()
    assert json.loads(text)["model"]["layers"] == 1
    (folder / "edited" / "config.json").write_text(text.replace('"layers": 1', '"layers": 2'))
    told = json.loads((run / "preparation.json").read_text())
    told["encodings"][0]["part"] = "others:Part"
    del told["checksum"]
    (folder / "strange" / "preparation.json").write_text(json.dumps(told))
    return folder


def learn(source, target="y"):
    return f"train {source} --target {target} {SMALL} -o new"


Y = learn("t.csv")
KIND = learn("t.csv", "kind")
MISTAKES = [
    # words of the command line
    ("trian t.csv", 2, "invalid choice: 'trian'", "did you mean train?"),
    ("train t.csv --targett y", 2, "--targett", "did you mean --target?"),
    ("train t.csv --model.widht 8", 2, "--model.widht", "did you mean --model.width?"),
    ("train t.csv --optimizer.warmup NaN", 2, "warmup must be a finite number, got NaN"),
    ("train t.csv --optimizer.warmup ''", 2, "warmup must be a number, got nothing"),
    ("train t.csv --warmup 1", 2, "--warmup", "did you mean --optimizer.warmup?"),
    ("train t.csv --virtual-cell 1", 2, "did you mean --model.virtual_cell?"),
    ("train t.csv --model.width wide", 2, "--model.width must be a whole number, got wide"),
    ("train t.csv --epochs 1.5", 2, "--training.epochs must be a whole number or auto, got 1.5"),
    ("train t.csv --device gpuu", 2, "must be auto, cpu or gpu, got gpuu", "did you mean gpu?"),
    ("train t.csv --data.fractions 0.9,0.1", 2
     , "must be 3 numbers with commas between, got 0.9,0.1"),
    ("train t.csv --data.fractions a,b,c", 2, "must be 3 numbers with commas between, got a,b,c"),
    ("train t.csv --training.class_weights balnced", 2,
     "must be numbers with commas between, equal or balanced, got balnced", "mean balanced?"),
    ("predict run", 2, "required: source"),
    ("baseline gin t.csv", 2, "required: --output"),
    ("predict run t.csv --interval wide", 2, "--interval must be a number, got wide"),
    # configurations
    ("train t.csv --config no.yaml", 2, "--config: File does not exist", "no.yaml"),
    ("train t.csv --config key.yaml", 2, "key.yaml: there is no field model.widht"
     , "did you mean model.width?"),
    ("train t.csv --config no_part.yaml", 2, "no_part.yaml: there is no field trainnig.epochs"
     , "did you mean training.epochs?"),
    ("train t.csv --config short.yaml", 2, "short.yaml: training.epochs is there twice"),
    ("train t.csv --config torn.yaml", 2, "parsing a flow sequence", "line 1"),
    ("train t.csv --config null.yaml", 2, "null.yaml: data.val_file has a null character in it"),
    ("prepare t.csv --config wide.yaml", 2
     , "wide.yaml: there is no field model.width of this command"),
    ("train t.csv --optimizer.warmup [1]", 2, "warmup must be a number, got [1]"),
    ("train t.csv --config list.yaml", 2, "fields are needed, as in {training: {epochs: 5}}"),
    # values and what goes together
    (f"train t.csv --target y {SMALL} --model.width 9", 2, "width (9) must be a multiple of heads"),
    ("train t.csv --data.fractions 0.9,0.2,0.1", 2
     , "three parts of 1, such as 0.8,0.1,0.1, got 0.9,"),
    (f"train {SMALL} -o new", 1, "give either a source to train on"),
    (f"{Y} --ensemble 2 --folds 3", 1, "either --ensemble or --folds"),
    (f"{Y} --ensemble 1", 1, "at least 2 members, got 1"),
    (f"{Y} --ensemble 0", 1, "at least 2 members, got 0"),
    (f"{Y} --folds 0", 1, "folds must be at least 3, got 0"),
    (f"{Y} --seed -1", 2, "training.seed must be from 0 to", "got -1"),
    (f"{Y} --seed 99999999999999999999", 2, "training.seed must be from 0 to"),
    (f"{Y} --data.split_seed -3", 2, "data.split_seed must be at least 0, got -3"),
    (f"{Y} --folds 40", 1, "number of rows (12), got 40"),
    (f"{Y} --device gpu", 1, "PyTorch finds no GPU", "set it to cpu or auto"),
    # parts
    (f"{Y} --data.encodings bspee", 2, "unknown encoding", "did you mean 'bspe'"),
    (f"{Y} --data.encodings 'rwpe(steps=3)'", 1,
     "the encoding rwpe has no argument 'steps' (it takes size)"),
    (f"{Y} --data.lifting 'rings(size=3)'", 1, "did you mean 'max_size'?"),
    (f"{Y} --attention 'general-sparse(x=1)'", 1, "no argument 'x'"),
    (f"{Y} --training.loss l3", 2, "unknown loss 'l3' (choose from l1, mse,"),
    (f"{Y} --training.loss 'quantile(levle=0.9)'", 1, "did you mean 'level'?"),
    (f"{Y} --training.loss 'huber(detla=2)'", 1, "no argument 'detla'"),
    (f"{KIND} --training.loss gaussian", 1, "deviations of values, not of classes"),
    (f"{Y} --data.lifting mine:Lifting", 1, "no module 'mine'; install it, or"),
    (f"{Y} --import no.py", 1, "there is no file no.py"),
    # files
    (learn("no.csv"), 1, "there is no file no.csv"),
    (learn("no/"), 1, "there is no file or folder no/"),
    (f"train ncii {SMALL} -o new", 1, "there is no data source 'ncii'; did you mean 'nci'?"),
    (f"train letter.docx {SMALL} -o new", 1
     , "letter.docx: files of this kind are not read", ".csv"),
    (learn("-"), 1, "cannot be trained on standard input; give a file"),
    (learn("header.csv"), 1, "header.csv has no rows below the names"),
    (learn("nameless.csv"), 1, "say which of its columns holds the SMILES", "'y'"),
    (learn("invalid.csv"), 1, "none of 12 rows", "row 0: 'nonsense' is not a SMILES"),
    (learn("two.csv"), 1, "two.csv, line 3: 1 cells where the header names 2 columns"),
    (learn("twice.csv"), 1, "two columns named 'y'; rename one"),
    (learn("latin.csv") + " --data.charset utf-8", 1, "latin.csv is not utf-8; name another"),
    (f"{Y} --data.charset utf8x", 1, "no data.charset 'utf8x', such as utf-8"),
    (f"train torn.npz {SMALL} -o new", 1, "torn.npz is not an .npz file"),
    (f"train other.npz {SMALL} -o new", 1, "other.npz: array 'num_nodes' is missing"),
    ("lift mesh.obj", 1, "mesh.obj", "face 0 names vertex 8"),
    ("lift short.off", 1, "short.off", "only 1 lines follow"),
    # columns
    (f"train t.csv {SMALL} -o new", 1
     , "say which column of t.csv", "--target", "'smiles', 'y', 'kind', 'name'"),
    (learn("t.csv", "name"), 1, "12 different words in 12 rows", "choose another column"),
    (learn("units.csv"), 1, "several units", "row 1 is '1 uM'", "convert it to one"),
    (learn("bounds.csv"), 1, "row 3 (counted from 0) is '>3.5'", "data.censored"),
    (learn("points.csv"), 1, "decimal commas and points", "write one of them"),
    (learn("one.csv"), 1, "needs two classes, found 1: 'yes'; choose another column"),
    (learn("blank.csv"), 1, "'y' is blank in every row; choose another column"),
    (f"{Y} --data.descriptors t", 1, "t.csv has no column 't'"),
    (learn("warm.csv") + " --data.descriptors t", 1, "'t' is no column of numbers: row 0"),
    (f"{Y} --data.targets_of atoms", 1, "only in 1 of 12 rows a list of column 'y'", "row 1 "),
    (f"{Y} --data.targets_of vertices", 1, "of a table are of atoms or bonds", "be vertices"),
    (learn("above.csv"), 1, "is '>5', not a finite number; leave a bound blank"),
    (learn("ppm.csv"), 1, "value 0 of row 0", "'0.1 ppm', but lists take no units"),
    (f"{Y} --data.kind binary", 1, "0.5 is no class", "as a regression"),
    (f"{KIND} --data.kind regression", 1, "row 0 (counted from 0) is 'a'"),
    (f"{KIND} --data.metric rmse", 1, "rocauc, average_precision, accuracy, f1, mcc, not rmse"),
    (f"{Y} --training.class_weights balanced", 1, "go with classes", "leave them"),
    (f"{KIND} --training.class_weights 1,2,3", 1, "3 numbers for 2 classes (a, b)"),
    (f"{KIND} --training.class_weights 1,2,3 --ensemble 2", 1, "3 numbers for 2"),
    # splits
    (learn("few.csv"), 1, "few: no labeled complex is left in the val part"),
    (learn("split.csv"), 1, "row 2 (counted from 0) is 'holdout'; expected train, val"),
    (learn("tests.csv"), 1, "no labeled complex is left in the train part"),
    # folders of runs
    (f"train t.csv --target y {SMALL} -o run", 1
     , "run holds a run already", "choose another folder"),
    (f"train t.csv --target y {SMALL} -o t.csv", 1, "t.csv: Not a directory; choose another place"),
    ("train --resume no", 1, "no is not a run folder: config.json is missing"),
    ("train --resume run --lr 0.1", 1, "--optimizer.peak_rate is of no use"),
    ("predict lacking t.csv", 1, "lacking lacks model.json; restore it from a copy"),
    ("predict weightless t.csv", 1, "lacks best.safetensors; restore it", "--weights last"),
    ("predict damaged t.csv", 1, "damaged/config.json cannot be read as JSON", "restore it"),
    ("predict edited t.csv", 1, "edited/config.json is damaged, or was edited", "restore it"),
    ("predict strange t.csv", 1
     , "others:Part is code of others", "add --import others if you trust"),
    ("report begun", 1, "begun is not finished: summary.json is missing"),
    ("explore run --port 99999", 1, "--port is a number from 0 to 65535, got 99999"),
    # predictions
    ("predict run C1CC", 1, "'C1CC' is not a SMILES string: unclosed ring"),
    ("predict run t.csv -o no/out.csv", 1, "there is no folder no for out.csv; make it"),
    ("predict run t.csv -o t.csv", 1, "t.csv exists; choose another name or --overwrite"),
    ("predict run t.csv -o out.xlsx", 1, "out.xlsx does not end in .csv, .tsv, .parquet or .ply"),
    ("predict run t.csv -o out.ply --spreadsheet", 1, "is about the texts of a table"),
    ("estimate t.csv --rows inf", 2, "--rows must be a finite number, got inf"),
    ("estimate t.csv --nodes 1 few", 2, "--nodes must be a whole number, got few"),
    ("predict run t.csv --interval 90", 1, "between 0 and 1, got 90"),
    ("predict run t.csv --interval 0.9", 1, "at least 10 labeled rows", "choose a lower level, or"),
    ("predict run t.csv --interval 0.9 --calibrate few.csv", 1, "few has 2", "more rows"),
    ("predict dry t.csv --samples 5", 1, "dry was trained without dropout", "--samples out"),
    ("predict run t.csv --samples 0", 1, "samples must be at least 2, got 0"),
    ("evaluate run header.csv", 1, "header: none of 0 rows has a complex"),
    ("evaluate run blank.csv", 1, "blank: no row has a value of y to score"),
    # the other commands
    ("tune t.csv --target y --space no.yaml -o new", 1, "there is no file no.yaml"),
    ("tune t.csv --target y --space space.yaml -o new", 1, "did you mean optimizer.peak_rate?"),
    ("lift t.csv --index 99", 1, "t has no row 99"),
    ("lift CCO -o picture.txt", 1, "picture.txt: a picture's name ends in .png, .svg or .pdf"),
    ("draw CCO -o no/picture.svg", 1, "there is no folder no for picture.svg; make it"),
    ("draw CCO --what attention -o a.svg", 1, "name a run by --run"),
    ("encode CCO -o table.docx", 1, "table.docx does not end in .csv"),
    ("reproduce --datasets zink", 1, "there is no data source 'zink'; did you mean 'zinc'?"),
]  # fmt: skip


def held(folder: Path):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} | {
        path: 0 for path in folder.rglob("*") if path.is_dir()
    }


@pytest.mark.parametrize(("line", "code", "told"), [(m[0], m[1], m[2:]) for m in MISTAKES])
def test_a_mistake_is_told_in_one_line_and_leaves_nothing(
    line, code, told, here, monkeypatch, capsys
):
    monkeypatch.chdir(here)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("cellformer.training.loop.loggers.find_spec", lambda name: None)
    before = held(here)
    capsys.readouterr()
    try:
        ended = main(shlex.split(line))
    except SystemExit as stop:
        ended = stop.code
    error = capsys.readouterr().err
    assert ended == code, error
    lines = [text for text in error.splitlines() if text and "Preparing " not in text]
    assert len(lines) == 1, error
    for words in told:
        assert words in lines[0]
    for of_python in ("<class", "typing.", "__init__", "Traceback", "Parser key", "Errno"):
        assert of_python not in lines[0]
    assert held(here) == before
