import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import AllChem

from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import read_table, write_table

BROKEN = "bad\n  x\n\n  6  5  0  0  0  0  0  0  0  0999 V2000\n    0.0 C\n"
PENTAVALENT = Chem.MolToMolBlock(Chem.MolFromSmiles("CC(C)(C)(C)C", sanitize=False), kekulize=False)


def record(smiles, title="", **properties):
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    AllChem.EmbedMolecule(molecule, randomSeed=1)
    molecule.SetProp("_Name", title)
    told = "".join(f"> <{key}>\n{value}\n\n" for key, value in properties.items())
    return f"{Chem.MolToMolBlock(molecule)}{told}$$$$\n"


SDF = (
    record("CCO", "ethanol", logS="0,5", note="two\nlines")
    + record("C[C@H](N)C(=O)O", "alanine", logS="1,5", id="7")
    + record("F/C=C/F", "", logS="n.d.")
    + f"{BROKEN}M  END\n> <logS>\n2,5\n\n$$$$\n"
    + f"{PENTAVALENT}> <logS>\n3,5\n\n$$$$\n"
    + record("[Na+].[Cl-]", logS="4,5").removesuffix("$$$$\n")
)


def read(tmp_path, name, text, **options):
    raw = text.encode("utf-8") if isinstance(text, str) else text
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return read_table(tmp_path / name, **options)


@pytest.mark.parametrize("name", ["set.sdf", "set.sdf.gz", "set.txt", "set.SDF"])
def test_records_of_an_sdf_are_rows_and_their_properties_columns(tmp_path, name):
    table = read(tmp_path, name, SDF)
    assert table.header == ("smiles", "name", "logS", "note", "id")
    assert table.name == "set" or name.endswith("SDF")
    assert table.column("smiles").tolist() == [
        "CCO", "C[C@H](N)C(=O)O", "F/C=C/F", "", "", "[Cl-].[Na+]"]  # fmt: skip
    assert table.column("name").tolist()[:4] == ["ethanol", "alanine", "", "bad"]
    assert table.column("logS").tolist() == ["0,5", "1,5", "n.d.", "2,5", "3,5", "4,5"]
    assert table.column("note")[0] == "two\nlines"
    assert table.column("id").isna().tolist() == [True, False, True, True, True, True]
    opened = molecules(table, ["logS"])
    np.testing.assert_array_equal(
        opened.targets[:, 0], np.float32([0.5, 1.5, np.nan, 2.5, 3.5, 4.5])
    )
    assert set(opened.faults) == {3, 4}
    assert opened.faults[3].startswith("the structure cannot be read")
    assert "\n" not in opened.faults[3]
    assert "valence" in opened.faults[4]


def test_a_property_that_is_called_as_a_column_of_ours_gets_a_number(tmp_path):
    table = read(tmp_path, "set.sdf", record("CCO", "x", SMILES="other", name="n"))
    assert table.header == ("smiles", "name", "SMILES_2", "name_2")
    assert molecules(table).smiles == ("CCO",)


@pytest.mark.parametrize("broken", [BROKEN, BROKEN.replace("bad\n", "M  END\n"), "\n\n\n"])
def test_a_record_without_the_end_of_its_structure_keeps_its_properties(tmp_path, broken):
    table = read(
        tmp_path, "set.sdf", f"{record('C', logS='1')}{broken}>  <logS>  (2)\n2,5\n\n$$$$\n"
    )
    assert table.column("logS").tolist() == ["1", "2,5"]
    assert set(table.faults) == {1}


def test_an_empty_sdf_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"set\.sdf holds no record"):
        read(tmp_path, "set.sdf", "\n\n")
    (tmp_path / "set.sdf.gz").write_bytes(gzip.compress(SDF.encode())[:200])
    with pytest.raises(ValueError, match=r"set\.sdf\.gz cannot be read: "):
        read_table(tmp_path / "set.sdf.gz")


@pytest.mark.parametrize("name", ["set.smi", "set.smi.gz", "set.txt"])
def test_lines_of_smiles_may_have_names_behind_them(tmp_path, name):
    text = "CCO ethanol\r\nCCN\tethyl amine\r\n\r\n# remark\r\nC[C@H](F)Cl |&1:1| both\r\nC1CC\r\n"
    table = read(tmp_path, name, text)
    assert table.column("smiles").tolist() == ["CCO", "CCN", "C[C@H](F)Cl |&1:1|", "C1CC"]
    assert table.column("name").tolist()[:3] == ["ethanol", "ethyl amine", "both"]
    graphs = molecules(table)
    assert graphs.graph(2).num_vertices == 4
    with pytest.raises(ValueError, match="'C1CC' is not a SMILES"):
        graphs.graph(3)


def test_a_first_line_may_name_the_columns(tmp_path):
    table = read(tmp_path, "set.smi", "SMILES Name y\nCCO a 1.5\nCCC b 2.5\n")
    assert molecules(table, ["y"]).targets[:, 0].tolist() == [1.5, 2.5]
    assert read(tmp_path, "set.txt", "SMILES Name\nCCO a\n").header == ("SMILES", "Name")
    tabs = read(tmp_path, "set.smi", "smiles\tfull name\ty\nCCO\tan alcohol\t1\nC\tb\n")
    assert tabs.column("full name").tolist() == ["an alcohol", "b"]


@pytest.mark.parametrize(
    "text",
    ["smiles,y\nCCO,1\n", "id\tsmiles\n1\tCCO\n", "Compound;smiles\nx;CCO\n", "smiles\nCCO\n"],
)
def test_a_text_with_a_table_is_read_as_one(tmp_path, text):
    assert molecules(read(tmp_path, "set.txt", text)).smiles == ("CCO",)


def test_a_text_without_molecules_is_told_by_its_columns(tmp_path):
    table = read(tmp_path, "set.txt", "Dear reader,\nthis is a letter,\n")
    with pytest.raises(ValueError, match="no column named like smiles"):
        molecules(table)
    with pytest.raises(ValueError, match=r"set\.smi is empty"):
        read(tmp_path, "set.smi", "\n")


@pytest.mark.parametrize(
    ("text", "smiles"), [(SDF, "CCO"), ("CCN amine\nCCO\n", "CCN"), ("smiles,y\nCCS,1\n", "CCS")]
)
def test_standard_input_is_looked_into(monkeypatch, text, smiles):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert read_table("-").column("smiles")[0] == smiles


@pytest.fixture
def book(tmp_path):
    first = pd.DataFrame(
        {"Smiles": ["CCO", "CCN", None, "CC"], "y": ["1,5 nM", "2 nM", None, "NA"],
         "n": [1, 2, None, "x"], 5: [0.1, 0.2, None, 0.3]}
    )  # fmt: skip
    with pd.ExcelWriter(tmp_path / "set.xlsx") as writer:
        first.to_excel(writer, sheet_name="data", index=False)
        first.to_excel(writer, sheet_name="more", index=False)
    return tmp_path / "set.xlsx"


def test_the_first_sheet_of_a_spreadsheet_is_a_table(book, caplog, monkeypatch):
    with caplog.at_level("INFO"):
        table = read_table(book)
    assert "its first sheet, 'data', is read, of 2" in caplog.text
    assert table.header == ("Smiles", "y", "n", "5")
    assert len(table) == 3
    opened = molecules(table, ["y"])
    assert (opened.smiles, opened.task.units) == (("CCO", "CCN", "CC"), ("nM",))
    np.testing.assert_array_equal(opened.targets[:, 0], np.float32([1.5, 2, np.nan]))
    write_table(table.frame, book.with_suffix(".parquet"))
    assert pd.read_parquet(book.with_suffix(".parquet"))["n"].tolist() == ["1", "2", "x"]
    assert pd.read_parquet(book.with_suffix(".parquet"))["5"].tolist() == [0.1, 0.2, 0.3]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(book.read_bytes())))
    assert len(read_table("-")) == 3


def test_a_damaged_spreadsheet_is_named(tmp_path, book):
    (tmp_path / "cut.xlsx").write_bytes(book.read_bytes()[:500])
    with pytest.raises(ValueError, match=r"cut\.xlsx cannot be read as xlsx \(BadZipFile"):
        read_table(tmp_path / "cut.xlsx")


def test_without_openpyxl_the_extra_is_named(book, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"pip install 'cellformer\[xlsx\]'"):
        read_table(book)


@pytest.mark.parametrize("option", ["separator", "charset"])
def test_an_option_of_texts_is_refused_where_a_format_has_its_own(book, tmp_path, option):
    with pytest.raises(ValueError, match=f"{option} is of no use to .*set.xlsx"):
        read_table(book, **{option: ";"})
    with pytest.raises(ValueError, match="separator is of no use to"):
        read(tmp_path, "set.sdf", SDF, separator=";")


def test_inchi_are_read_where_there_is_no_smiles(tmp_path):
    inchi = [Chem.MolToInchi(Chem.MolFromSmiles(text)) for text in ("CCO", "[Na+].[Cl-]")]
    frame = pd.DataFrame({"id": [1, 2, 3, 4], "InChI": [*inchi, "InChI=1S/nothing", ""]})
    frame.to_csv(tmp_path / "set.csv", index=False)
    graphs = molecules(read_table(tmp_path / "set.csv"))
    assert [graphs.graph(row).num_vertices for row in (0, 1)] == [3, 2]
    with pytest.raises(ValueError, match="'InChI=1S/nothing' is an InChI without a molecule: "):
        graphs.graph(2)
    with pytest.raises(ValueError, match="the SMILES is empty"):
        graphs.graph(3)


def test_names_of_a_spreadsheets_columns_are_kept_as_they_are(tmp_path):
    rows = [[None, None, None, None], ["smiles", "y", None, "y"], ["C", 1, None, 2],
            [None, None, None, None], ["CC", 2.5, "x", 2**70]]  # fmt: skip
    with pd.ExcelWriter(tmp_path / "set.xlsx") as writer:
        pd.DataFrame(rows).to_excel(writer, header=False, index=False)
    table = read_table(tmp_path / "set.xlsx")
    assert table.header == ("smiles", "y", "", "y")
    assert table.frame.iloc[:, 0].tolist() == ["C", "CC"]
    with pytest.raises(ValueError, match="two columns named 'y'; rename one"):
        molecules(table, ["y"])


def test_a_spreadsheet_without_a_filled_cell_is_told(tmp_path):
    pd.DataFrame().to_excel(tmp_path / "set.xlsx", index=False)
    with pytest.raises(ValueError, match=r"set\.xlsx: its first sheet, 'Sheet1', is empty; move"):
        read_table(tmp_path / "set.xlsx")
