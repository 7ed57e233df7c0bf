"""A new lifting, encoding or attention is one file and one line, which reach all that lists it."""

import importlib
from pathlib import Path

import pytest

import cellformer as cf
import cellformer.encodings
import cellformer.lifting
import cellformer.model
from cellformer.basics.parts.catalog import Listed
from cellformer.cli.main import main
from cellformer.encodings.catalog import ENCODINGS
from cellformer.experiments.grid.grid import Grid
from cellformer.experiments.grid.scores import grid_order
from cellformer.explorer.inspection import Explorer
from cellformer.lifting.catalog import LIFTINGS
from cellformer.model.catalogs import ATTENTIONS

STARS = '''"""A lifting."""

from dataclasses import dataclass

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import lift


@dataclass(frozen=True)
class Squares:
    """Every cycle of four."""

    length: int = 4

    def __call__(self, graph: Graph) -> CellComplex:
        return lift(graph, InducedCycles(max_length=self.length))
'''
COUNTS = '''"""An encoding."""

from dataclasses import dataclass

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.encodings.encode import EncodedRanks


@dataclass(frozen=True)
class Counts:
    """The number of faces | cells below."""

    size: int = 1

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        ranks = [np.zeros((count, self.size), np.float32) for count in cells.num_cells]
        for rank in range(1, cells.dim + 1):
            ranks[rank] += abs(cells.boundary(rank)).sum(0)[:, None]
        return EncodedRanks(tuple(ranks), np.zeros(self.size, np.int8))
'''
UPWARDS = '''"""A plan."""

from cellformer.model.relations.diagram import TensorDiagram, paper_diagram
from cellformer.model.plans.pairwise import Pairwise


def upwards(max_rank: int = 2) -> Pairwise:
    """From faces to cofaces alone."""
    arrows = paper_diagram(max_rank).arrows
    return Pairwise(TensorDiagram(tuple(a for a in arrows if a.sender <= a.receiver)))
'''


@pytest.fixture
def new(tmp_path, monkeypatch):
    """A file in each of three rooms, and a line in the list of each."""
    for room, name, text in (("lifting", "squares", STARS), ("encodings", "counts", COUNTS),
                             ("model", "upwards", UPWARDS)):  # fmt: skip
        package = importlib.import_module(f"cellformer.{room}")
        folder = tmp_path / room
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    line = Listed("cellformer.lifting.squares:Squares", {"max_length": "length"})
    monkeypatch.setitem(LIFTINGS.parts, "squares", line)
    line = Listed("cellformer.encodings.counts:Counts", {"encoding_size": "size"})
    monkeypatch.setitem(ENCODINGS.parts, "counts", line)
    line = Listed("cellformer.model.upwards:upwards", factory=True)
    monkeypatch.setitem(ATTENTIONS.parts, "upwards", line)


def test_one_file_and_one_line_reach_the_grid_the_help_the_tables_and_the_docs(
    new, molecules_npz, tmp_path, capsys, monkeypatch
):
    assert Grid().attentions[-1] == "upwards"
    assert Grid().encodings[-1] == "counts"
    keys = [("mine.parts:X", "bspe"), ("upwards", "counts"), ("general-dense", "bspe"),
            ("upwards", "bspe")]  # fmt: skip
    assert sorted(keys, key=grid_order) == [keys[2], keys[3], keys[1], keys[0]]

    with pytest.raises(SystemExit):
        main(["reproduce", "--help-all"])
    told = "".join(capsys.readouterr().out.split())
    for names in ("cliques,squares,package", "slepians,counts,package",
                  "general-dense,upwards,package"):  # fmt: skip
        assert names in told

    words = ["reproduce", "--datasets", str(molecules_npz), "-o", str(tmp_path / "results"),
             "--attentions", "upwards", "--encodings", "counts", "--data.lifting", "squares",
             "--data.max_length", "6", "--data.encoding_size", "2", "--model.width", "8",
             "--model.heads", "2", "--model.layers", "1", "--epochs", "1"]  # fmt: skip
    assert main(words) == 0
    assert "| upwards | counts |" in capsys.readouterr().out
    run = tmp_path / "results" / "molecules" / "upwards" / "counts" / "seed-0"
    assert len(cf.predict(run, ["CCO"])) == 1
    kept = cf.Preparation.read(run / "preparation.json")
    assert (kept.lifting.length, kept.encodings[0].size) == (6, 2)
    assert Explorer.open(run).about()["listed"][-1] == "counts"

    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "docs" / "extension")
    parts = importlib.import_module("parts").parts
    assert "| `squares` | Every cycle of four. |  |" in parts("data.lifting")
    assert r"| `counts` | The number of faces \| cells below. |  |" in parts("data.encodings")
    assert "| `upwards` | From faces to cofaces alone. |  |" in parts("attention")
    assert "| {py:obj}`~cellformer.Rings` |" in parts("data.lifting")
