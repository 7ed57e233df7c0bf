import json

import numpy as np
import pytest

from cellformer.chemistry import fragments
from cellformer.complexes.graph import Graph
from cellformer.data import fragments as kept
from cellformer.data.preparation import Preparation
from cellformer.encodings.bspe import BSPe
from cellformer.lifting.cliques import Cliques
from strategies import assert_same_complex


@pytest.fixture
def preparation():
    return Preparation(Cliques(max_dim=2), (BSPe(3),), ring_features=True, fragments="largest")


def test_it_comes_back_from_json(preparation):
    assert Preparation.from_dict(json.loads(json.dumps(preparation.to_dict()))) == preparation


def test_fields_that_earlier_versions_did_not_write_have_their_defaults(preparation):
    earlier = preparation.to_dict()
    del earlier["censored"], earlier["column_units"], earlier["degenerate"]
    assert Preparation.from_dict(earlier) == preparation
    del earlier["columns"]
    with pytest.raises(ValueError, match="something off about columns"):
        Preparation.from_dict(earlier)


def test_one_row_is_made_as_all_are(preparation, tmp_path):
    smiles = ["C1CC1", "CCO.[Na+].[Cl-]", "c1ccccc1"]
    rows = preparation.open(smiles)
    stored = preparation.stored(rows, cache_dir=tmp_path).complexes
    for row, cells in enumerate(preparation.many(rows)):
        assert_same_complex(cells, stored[row])
        assert_same_complex(cells, preparation.one(smiles[row]))
        for one, other in zip(cells.encodings, stored[row].encodings, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert stored[1].num_cells[0] == 3


def test_rows_that_are_open_are_not_looked_at_again(preparation, monkeypatch):
    rows = preparation.open(["CC.Cl"] * 5)
    looked = []

    def largest(text):
        looked.append(text)
        return fragments.largest_fragment(text)

    monkeypatch.setattr(kept, "largest_fragment", largest)
    for row in range(5):
        assert preparation.one(rows, row).num_cells[0] == 2
    assert looked == []


def test_what_is_no_source_is_told(preparation):
    with pytest.raises(ValueError, match="there is no data source 'zinq'; did you mean 'zinc'"):
        preparation.open("zinq")
    with pytest.raises(ValueError, match="and no molecule either"):
        preparation.open("C1CC")
    with pytest.raises(ValueError, match="holds SMILES, graphs or complexes, not Graph and str"):
        preparation.open(["C", Graph.from_edges([(0, 1)])])
    with pytest.raises(ValueError, match="has no row 2"):
        preparation.one(["C", "CC"], 2)


def test_a_mistyped_path_is_a_missing_file_and_no_bad_molecule(preparation, tmp_path):
    (tmp_path / "new.csv").write_text("smiles\nC\n")
    with pytest.raises(FileNotFoundError, match=r"folder .*new.cvs; did you mean 'new.c"):
        preparation.open(str(tmp_path / "new.cvs"))
    for text in ("molecules.smi", "folder/molecules", "../x", "C:\\data\\molecules"):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            preparation.open(text)
    for text in ("F/C=C/X", "[Na+].[Xl-]"):
        with pytest.raises(ValueError, match="and no molecule either"):
            preparation.open(text)


@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"format": 1, "versions": []}'])
def test_a_damaged_file_is_named(text, tmp_path, preparation):
    (tmp_path / "preparation.json").write_text(text)
    with pytest.raises(ValueError, match=r"preparation\.json(: | cannot be read)"):
        Preparation.read(tmp_path / "preparation.json")
    values = preparation.to_dict() | {"versions": [3]}
    (tmp_path / "preparation.json").write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"preparation\.json(: | cannot be read)"):
        Preparation.read(tmp_path / "preparation.json")


ODD = (None, True, 3, "words", [], [3], ["a"], {}, {"part": "os:system"}, {"a": {}})


@pytest.mark.parametrize("field", [*Preparation.__dataclass_fields__, "versions"])
def test_a_value_of_another_type_is_told_with_file_and_field(field, tmp_path, preparation):
    file = tmp_path / "preparation.json"
    good = preparation.to_dict()
    refused = 0
    for odd in ODD:
        file.write_text(json.dumps(good | {field: odd}))
        try:
            assert Preparation.read(file).to_dict()[field] in (odd, good[field])
        except ValueError as error:
            refused += 1
            told = str(error)
            assert told.startswith(f"{file}: {field}"), told
            assert "\n" not in told
            assert "object" not in told
    assert refused >= 6


@pytest.mark.parametrize(
    ("field", "odd", "message"),
    [
        ("encodings", None, "encodings must be a list, each a part, got None"),
        ("columns", "solubility", "columns must be a list, each a text, got 'solubility'"),
        ("separator", [","], r"separator must be a text or null, got \(',',\)"),
        ("features", "ogbb", "features must be one of standard, ogb, zinc, got 'ogbb'"),
        (
            "ring_features",
            "yes",
            "ring_features must be true or false or one of numbers, got 'yes'",
        ),
        ("lifting", 3, "lifting must be a part, got 3"),
        ("reader", "parts:read", "reader must be a part or null, got 'parts:read'"),
        ("lifting", {"part": 3, "arguments": []}, "lifting: .* describes no part"),
        ("versions", [3], r"versions must be a mapping by module, got \[3\]"),
    ],
)
def test_what_a_field_needs_is_told(field, odd, message, tmp_path, preparation):
    file = tmp_path / "preparation.json"
    file.write_text(json.dumps(preparation.to_dict() | {field: odd}))
    with pytest.raises(ValueError, match=rf"preparation\.json: {message}"):
        Preparation.read(file)
