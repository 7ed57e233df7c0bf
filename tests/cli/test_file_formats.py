"""Every command that takes molecules takes them from any file that holds some."""

import gzip
import io
import sys

import pandas as pd
import pytest
from rdkit import Chem

from cellformer.cli.main import main
from tiny import SMILES

SMALL = (
    "--model.width=8", "--model.heads=2", "--model.layers=1", "--data.encodings=rwpe:2",
    "--data.molecule_descriptors=none", "--training.epochs=1", "--training.device=cpu",
)  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with the same molecules in every format, and a run that has learned them."""
    folder = tmp_path_factory.mktemp("formats")
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    texts = []
    for row, molecule in enumerate(molecules):
        texts.append(f"{Chem.MolToMolBlock(molecule)}> <y>\n{row}.5\n\n$$$$\n")
    (folder / "all.sdf").write_text("".join(texts))
    (folder / "all.sdf.gz").write_bytes(gzip.compress("".join(texts).encode()))
    lines = "".join(f"{text} molecule {row}\n" for row, text in enumerate(SMILES))
    (folder / "all.smi").write_text(lines)
    (folder / "all.txt").write_text(lines)
    frame = pd.DataFrame({"y": [row + 0.5 for row in range(len(SMILES))]})
    frame.assign(smiles=SMILES).to_excel(folder / "all.xlsx", index=False)
    frame.assign(InChI=[Chem.MolToInchi(each) for each in molecules]).to_csv(
        folder / "inchi.csv", index=False
    )
    train = ["train", str(folder / "all.sdf"), "--target", "y", "-o", str(folder / "run")]
    assert main([*train, *SMALL]) == 0
    return folder


FILES = ("all.sdf", "all.sdf.gz", "all.smi", "all.txt", "all.xlsx", "inchi.csv")


@pytest.mark.parametrize("name", FILES)
def test_rows_of_any_file_are_predicted(here, tmp_path, name):
    output = tmp_path / "out.csv"
    assert main(["predict", str(here / "run"), str(here / name), "-o", str(output)]) == 0
    told = pd.read_csv(output)
    assert len(told) == len(SMILES)
    assert told["error"].isna().all()
    assert main(["predict", str(here / "run"), str(here / "all.sdf"), "-o", str(output),
                 "--overwrite"]) == 0  # fmt: skip
    expected = pd.read_csv(output)
    far = (told["prediction"] - expected["prediction"]).abs() > 1e-5
    assert far.sum() <= (name == "inchi.csv")  # of tautomers an InChI has one
    assert expected["y"].tolist() == [row + 0.5 for row in range(len(SMILES))]


@pytest.mark.parametrize("name", ["all.sdf", "all.smi", "all.xlsx"])
def test_rows_stream_in_and_out(here, monkeypatch, capsys, name):
    raw = (here / name).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert main(["predict", str(here / "run"), "-"]) == 0
    told = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert len(told) == len(SMILES)
    assert told["prediction"].notna().all()


def test_a_table_is_not_written_as_an_sdf(here, tmp_path, capsys):
    output = str(tmp_path / "out.sdf")
    assert main(["predict", str(here / "run"), str(here / "all.sdf"), "-o", output]) == 1
    assert "does not end in .csv, .tsv, .parquet or .ply" in capsys.readouterr().err


@pytest.mark.parametrize("name", FILES)
def test_the_other_commands_take_it_too(here, tmp_path, capsys, name):
    source, picture = str(here / name), str(tmp_path / "x.svg")
    assert main(["lift", source, "--index", "3"]) == 0
    assert main(["encode", source, "--index", "3", "--data.encodings", "rwpe:2"]) == 0
    assert main(["draw", source, "--index", "3", "-o", picture]) == 0
    assert main(["prepare", source, "--data.molecule_descriptors", "none"]) == 0
    assert f"{len(SMILES)} complexes" in capsys.readouterr().out
    if name not in ("all.smi", "all.txt"):
        assert main(["evaluate", str(here / "run"), source]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CC>>CCO", "'CC>>CCO' is not a SMILES string, but a reaction; give its molecules one"),
        ("CC(=O)O.OCC>[H+]>CC(=O)OCC", "but a reaction"),
        ("LFQSCWFLJHTTHZ-UHFFFAOYSA-N", "but an InChIKey, from which no structure can be read"),
        ("InChI=1S/C9", "is an InChI without a molecule"),
    ],
)
def test_what_is_no_molecule_is_told(text, message, capsys):
    assert main(["lift", text]) == 1
    assert message in capsys.readouterr().err


def test_a_name_behind_a_smiles_and_an_inchi_are_read(capsys):
    for text in ("CCO ethanol", "InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3", "[NH3]->[Cu]<-[NH3]"):
        assert main(["lift", text]) == 0
        assert "3" in capsys.readouterr().out
