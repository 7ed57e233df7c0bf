"""Every field of the configuration, given to every command that takes it, changes what comes out.

Where it has no use it is refused, in words that name it.
"""

import re
import sys
from dataclasses import fields

import pytest

import cellformer as cf
from cellformer.basics.parts import trust
from cellformer.basics.parts.trust import allow_parts
from cellformer.cli.commands import draw, encode, lift, prepare
from cellformer.cli.parsing import OF_FEATURES, Parser
from cellformer.training.config import DataConfig, PreparationConfig
from own_parts import TEXT

ROWS = (
    "smiles,other,y,z,t,fold,split2,w",
    "c1ccc2ccccc2c1,CCO,1,0.5,3,train,train,>5",
    "CC1CC1,CCC,2,0.25,1,train,train,3",
    "OCC.[Na+].[Cl-],CCCC,3,0.125,4,train,train,3",
    "OCC.[Na+].[Cl-],CO,4,0.5,1,train,train,3",
    *(
        f"{'C' * n}O,C,{n},{1 / n},{n % 7},{'val' if n % 2 else 'test'},train,{n}"
        for n in range(3, 13)
    ),
)
OWN = "parts_for_fields"
TABLE, CLOUD = "rows.csv", "cloud.xyz"
FACES = "3 0 1 2\n3 1 2 3\n3 0 1 1\n"
LIMITED = "induced-cycles(max_cells=1)"

CASES = {
    "smiles_column": (TABLE, [], "other"),
    "separator": (TABLE, [], ";"),
    "charset": (TABLE, [], "utf-16"),
    "censored": (TABLE, ["--data.descriptors", "[w]"], "bound"),
    "features": (TABLE, [], "zinc"),
    "fragments": (TABLE, ["--index", "2"], "largest"),
    "descriptors": (TABLE, [], "[t]"),
    "molecule_descriptors": (TABLE, [], "none"),
    "ring_features": (TABLE, [], "true"),
    "hodge_parts": ("flows.npz", [], "true"),
    "lifting": (TABLE, [], "skeleton"),
    "max_length": (TABLE, [], "5"),
    "max_dim": (TABLE, ["--data.lifting", "cliques", "--index", "1"], "1"),
    "neighbors": (CLOUD, [], "2"),
    "radius": (CLOUD, [], "1.5"),
    "degenerate": ("bad.off", [], "drop"),
    "over_limit": (TABLE, ["--data.lifting", LIMITED], "truncate"),
    "encodings": (TABLE, [], "rwpe:3"),
    "encoding_size": (TABLE, ["--data.encodings", "rwpe"], "3"),
    "patch_cells": (CLOUD, [], "10"),
    "patch_halo": (CLOUD, ["--data.patch_cells", "10"], "1"),
    "reader": ("atoms.list", [], f"{OWN}:read"),
}
"""For each field a source, what else is given in both cases, and a value other than the default."""

MORE = {
    "target": ([], "[z]"),
    "kind": ([], "multiclass"),
    "targets_of": ([], "atoms"),
    "metric": ([], "rmse"),
    "on_error": (["--data.lifting", LIMITED, "--data.over_limit", "skip"], "fail"),
    "split": ([], "scaffold"),
    "split_column": ([], "fold"),
    "val_file": ([], "more.csv"),
    "test_file": ([], "more.csv"),
    "split_seed": ([], "5"),
    "fractions": ([], "[0.5,0.25,0.25]"),
    "folds": ([], "4"),
    "fold": (["--data.folds", "4"], "2"),
    "duplicates": (["--data.split_seed", "4"], "apart"),
    "more_sources": ([], "[more.csv]"),
    "leave_out": ([], "[left.csv]"),
    "computed_fragments": ([], "3"),
    "computed_targets": (["--data.molecule_descriptors", "none"], "true"),
}
"""Of prepare, on the table: what else is given, and a value."""

FASTER = {"source", "workers"}
"""The argument that commands take by itself, and what changes the time that a command takes."""

USELESS = {
    "smiles_column": "y", "separator": ";", "charset": "utf-8", "features": "ogb",
    "censored": "bound",
    "fragments": "largest", "descriptors": "[y]", "molecule_descriptors": "morgan", "max_dim": "3",
    "neighbors": "3", "radius": "1.0", "degenerate": "drop",
    "split_column": "split", "duplicates": "apart",
    "targets_of": "atoms", "hodge_parts": "true",
}  # fmt: skip
"""Of use to tables, molecules or clouds; given for graphs of an .npz file."""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with a source of each kind, where commands are given names of files alone."""
    folder = tmp_path_factory.mktemp("fields")
    (folder / TABLE).write_text("\n".join(ROWS) + "\n")
    (folder / "more.csv").write_text("smiles,y,z\nCCCN,1,0.5\nCCN,2,0.5\n")
    grid = [f"{x} {y} {(x * y) % 3}" for x in range(3) for y in range(3)]
    (folder / "left.csv").write_text("smiles\nOCCCC\n[Na+].CCC[O-]\n")
    (folder / CLOUD).write_text("\n".join(grid) + "\n")
    (folder / "bad.off").write_text("OFF\n4 3 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n" + FACES)
    (folder / "atoms.list").write_text("CCO 3\nc1ccccc1 6\n")
    (folder / f"{OWN}.py").write_text(TEXT)
    graphs = [cf.Graph.from_edges([(i, (i + 1) % n) for i in range(n)]) for n in range(3, 33)]
    cf.write_npz(folder / "graphs.npz", graphs, [float(n) for n in range(30)])
    flow = cf.Features.empty(3).with_signed([1.0, 2.0, 3.0])
    flows = [cf.Graph.from_edges([(0, 1), (1, 2), (0, 2)], edge_features=flow)] * 9
    cf.write_npz(folder / "flows.npz", flows, [float(n) for n in range(9)])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(trust, "_allowed", {})
        patch.setattr(sys, "path", [*sys.path])
        allow_parts(f"{OWN}.py")
        yield folder
    sys.modules.pop(OWN, None)


def outcome(command, words, capsys, picture=None):
    """What a command prints, but for times, what it draws, or its error."""
    parser = Parser()
    command.add_arguments(parser, words)
    try:
        parsed = parser.instantiate(parser.parse_args(words))
        code = command.run(parsed)
    except (ValueError, OSError) as error:
        return str(error)
    told = re.sub(r"in [\d.]+ s|[\d.]+ rows per second", "", capsys.readouterr().out)
    drawn = "" if picture is None else picture.read_text().partition("</metadata>")[2]
    return code, told, drawn


def words_of(command, source, others, here):
    words = [source, *others]
    if command is prepare:
        words = [source, *(word for word in others if word not in ("--index", "1", "2"))]
        return words + (["--target", "y"] if source == TABLE else [])
    return words + ([] if command is encode else ["-o", str(here / "picture.svg")])


@pytest.mark.parametrize(
    ("command", "field"),
    [
        pytest.param(command, field, id=f"{command.__name__.rpartition('.')[2]}-{field}")
        for command in (lift, encode, draw, prepare)
        for field in CASES
        if command in (lift, prepare) or field not in OF_FEATURES
        if command is prepare or field != "patch_halo"  # refused with that which it belongs to
    ],
)
def test_a_field_of_the_preparation_changes_what_comes_out(command, field, here, capsys):
    source, others, value = CASES[field]
    words = words_of(command, source, others, here)
    picture = None if command in (encode, prepare) else here / "picture.svg"
    before = outcome(command, words, capsys, picture)
    after = outcome(command, [*words, f"--data.{field}", value], capsys, picture)
    assert before != after


@pytest.mark.parametrize("field", MORE)
def test_a_field_of_the_data_changes_what_prepare_tells(field, here, capsys):
    others, value = MORE[field]
    target = [] if field == "target" else ["--target", "y"]
    words = [TABLE, *target, *others]
    before = outcome(prepare, words, capsys)
    after = outcome(prepare, [*words, f"--data.{field}", value], capsys)
    assert before != after
    assert isinstance(before, tuple), before


def test_no_field_is_left_out():
    assert set(CASES) == {field.name for field in fields(PreparationConfig)}
    assert {*CASES, *MORE, *FASTER} == {field.name for field in fields(DataConfig)}


@pytest.mark.parametrize("field", USELESS)
def test_a_field_that_a_source_has_no_use_for_is_refused(field, here, capsys):
    words = ["graphs.npz", f"--data.{field}", USELESS[field]]
    told = outcome(prepare, words, capsys)
    assert isinstance(told, str), told
    assert field in told or field.replace("_", " ") in told or "SMILES" in told


def test_a_complex_alone_is_never_skipped(here, capsys):
    for command in (lift, encode, draw):
        words = words_of(command, TABLE, ["--data.over_limit", "skip"], here)
        assert "over_limit=skip is of no use here" in outcome(command, words, capsys)
        words = words_of(command, CLOUD, ["--data.patch_cells", "9"], here)
        assert "patch_cells is of no use here" in outcome(command, words, capsys)


def test_molecules_are_not_cut(here, capsys):
    words = words_of(prepare, TABLE, ["--data.patch_cells", "9", "--data.patch_halo", "3"], here)
    assert "patch_cells is of use to graphs and complexes other" in outcome(prepare, words, capsys)
