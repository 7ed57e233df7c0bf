"""The house: floors and rooms of the package, as its imports have them, in words and as a picture.

The floors and their order are those of the contract of import-linter in ``pyproject.toml``; the
imports are read by grimp, which import-linter uses too; the words are the packages' docstrings.
"""

import ast
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grimp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import TextPath

import cellformer as cf
from cellformer.drawing.canvas import figure_of, new_axes
from cellformer.drawing.theme import token_color

ROOT = Path(__file__).parents[1]
PACKAGE = "cellformer"
UNIT = 0.4  # inches; the next ones are in such units
HEIGHT, COLUMN, CHIP = 0.8, 0.62, 0.46  # of a floor, a column of dots, a room
DOTS, NAME, ROOMS = 14.1, 0.25, 3.3  # where the dots begin, the names, the rooms
LETTERS = 8  # points


@dataclass(frozen=True)
class Floor:
    """One floor: a folder of the package that imports from those below it only."""

    name: str
    words: str
    rooms: tuple[str, ...]
    imports: Counter[str]
    """By floor, how often a file here imports one there."""


@cache
def floors() -> tuple[Floor, ...]:
    """From the top to the ground."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (whole,) = (c for c in contracts if c.get("containers") == [PACKAGE])
    names = [name for name in _in_order(whole) if (_folder(name) / "__init__.py").exists()]
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            at, to = _floor_of(module), _floor_of(imported)
            if at in counts and to in counts and at != to:
                counts[at][to] += 1
    return tuple(Floor(name, _words(name), _rooms(name, contracts), counts[name]) for name in names)


def table() -> str:
    """One line for each floor: its name, what it is for, and its rooms."""
    rows = ["| floor | | rooms |", "|---|---|---|"]
    for floor in floors():
        rooms = ", ".join(f"`{room}`" for room in floor.rooms)
        rows.append(f"| `{floor.name}` | {floor.words} | {rooms} |")
    return "\n".join(rows)


def draw_floors(theme: cf.Theme) -> Figure:
    """Every floor with its rooms; a dot in its row for each floor that it imports from."""
    shown = floors()
    width, height = DOTS + COLUMN * len(shown) + 0.3, HEIGHT * len(shown)
    ax = new_axes(width * UNIT, (height + 2.2) * UNIT, theme)
    ax.set_xlim(0, width)
    ax.set_ylim(height + 0.1, -2.1)
    ax.set_axis_off()
    for number, floor in enumerate(shown):
        _write_floor(ax, floor, number, theme)
        _mark_imports(ax, shown, number, theme)
    ax.text(DOTS - 0.3, -0.35, "imports from", ha="right", fontsize=10, color=theme.ink)
    return figure_of(ax)


def _write_floor(ax: Axes, floor: Floor, number: int, theme: cf.Theme) -> None:
    top, color = number * HEIGHT, token_color(number)
    box = (0, top + 0.06), DOTS - 0.3, HEIGHT - 0.12
    ax.add_patch(Rectangle(*box, fc=theme.page, ec=theme.faint, lw=0.8))
    ax.add_patch(Rectangle((0, top + 0.06), 0.12, HEIGHT - 0.12, fc=color, ec="none"))
    middle = top + HEIGHT / 2
    ax.text(NAME, middle, floor.name, va="center", fontsize=11, fontweight="bold", color=theme.ink)
    left = ROOMS
    for room in floor.rooms:
        wide = TextPath((0, 0), room, size=LETTERS).get_extents().width / 72 / UNIT + 0.35
        place = left, middle - CHIP / 2
        ax.add_patch(FancyBboxPatch(place, wide, CHIP, fc=theme.page, ec=color, lw=1,
                                    boxstyle="round,pad=0,rounding_size=0.12"))  # fmt: skip
        ax.text(left + wide / 2, middle, room, ha="center", va="center_baseline",
                fontsize=LETTERS, color=theme.ink)  # fmt: skip
        left += wide + 0.15


def _mark_imports(ax: Axes, shown: Sequence[Floor], number: int, theme: cf.Theme) -> None:
    floor, middle = shown[number], (number + 0.5) * HEIGHT
    own = DOTS + (number + 0.5) * COLUMN
    ax.text(own, -0.15, floor.name, rotation=60, ha="left", va="bottom", fontsize=9,
            rotation_mode="anchor", color=theme.ink)  # fmt: skip
    ax.plot([DOTS, DOTS + COLUMN * len(shown)], [middle] * 2, color=theme.faint, lw=0.4, zorder=1)
    ax.plot([own] * 2, [0, middle], color=theme.faint, lw=0.4, zorder=1)
    ax.scatter(own, middle, s=70, marker="s", color=token_color(number), zorder=3)
    for column, other in enumerate(shown):
        if count := floor.imports[other.name]:
            ax.scatter(DOTS + (column + 0.5) * COLUMN, middle, s=6 + 4 * count, zorder=3,
                       color=token_color(column), ec=theme.ink, lw=0.5)  # fmt: skip


def _in_order(contract: dict[str, object]) -> list[str]:
    layers = contract["layers"]
    assert isinstance(layers, list)
    return [name.strip() for layer in layers for name in layer.replace("|", ":").split(":")]


def _rooms(floor: str, contracts: Sequence[dict[str, object]]) -> tuple[str, ...]:
    """The subfolders, in the order of the floor's own contract where it has one."""
    found = {file.parent.name for file in _folder(floor).glob("*/__init__.py")}
    for contract in contracts:
        if contract.get("containers") == [f"{PACKAGE}.{floor}"]:
            order = _in_order(contract)
            return tuple(sorted(found, key=lambda room: order.index(room) if room in order else 99))
    return tuple(sorted(found))


def _words(floor: str) -> str:
    tree = ast.parse((_folder(floor) / "__init__.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").splitlines()[0]


def _folder(floor: str) -> Path:
    return ROOT / "src" / PACKAGE / floor


def _floor_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""
