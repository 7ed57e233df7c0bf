"""The page about the architecture tells the floors as they are, and names files that there are."""

import importlib
import re
from pathlib import Path

import pytest

import cellformer as cf

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "cellformer"


@pytest.fixture(scope="module")
def page():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        yield importlib.import_module("floors")


def test_every_folder_is_a_floor_and_imports_from_lower_ones_only(page):
    floors = page.floors()
    names = [floor.name for floor in floors]
    assert set(names) == {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    for number, floor in enumerate(floors):
        assert set(floor.imports) <= set(names[number + 1 :])
    imports = {floor.name: floor.imports for floor in floors}
    assert imports["cli"]["training"] > 5
    assert not imports["basics"]


def test_rooms_and_words_are_those_of_the_folders(page):
    table = page.table()
    for floor in page.floors():
        assert set(floor.rooms) == {
            f.parent.name for f in (PACKAGE / floor.name).glob("*/__init__.py")
        }
        assert floor.words.endswith(".")
        assert f"| `{floor.name}` | {floor.words} |" in table
    rooms = next(floor.rooms for floor in page.floors() if floor.name == "training")
    assert rooms.index("answers") < rooms.index("runs")  # as the contract has them


def test_the_picture_has_a_dot_for_every_pair_of_floors_that_import(page):
    (ax,) = page.draw_floors(cf.DARK).axes
    written = [text.get_text() for text in ax.texts]
    for floor in page.floors():
        assert written.count(floor.name) == 2  # its row and its column
        assert set(floor.rooms) <= set(written)
    squares_and_dots = len(ax.collections)
    assert squares_and_dots == sum(1 + len(floor.imports) for floor in page.floors())


@pytest.mark.parametrize("file", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_a_page_names_exist(file):
    named = re.findall(r"`([\w./-]+/[\w.-]*)`", (ROOT / file).read_text("utf-8"))
    assert len(named) > 20
    places = (PACKAGE, ROOT)
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_the_links_of_the_guide_for_contributors_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(links) > 2
    assert [link for link in links if not (ROOT / link).exists()] == []
