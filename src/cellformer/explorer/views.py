"""The pictures of the explorer, and the same as tables."""

import re
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from cellformer.drawing.attention import draw_attention, draw_attention_matrix
from cellformer.drawing.contributions import draw_contributions
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.molecule import hetero_labels
from cellformer.drawing.theme import Theme
from cellformer.drawing.tokens import cell_names
from cellformer.encodings.encode import encode
from cellformer.encodings.named import parse_encodings
from cellformer.explaining.attention import ArrowWeights, attention_of, choose
from cellformer.explaining.explain import Method, explain
from cellformer.explorer.inspection import Explorer, Subject
from cellformer.report.cell_pictures import (
    outputs_for,
    panels_of_cells,
    picture_of_cells,
    with_pixels,
)
from cellformer.training.answers.predict import columns_of
from cellformer.training.answers.predictions import as_told

MOST_EXPLAINED = 600
"""Cells of a complex whose contributions are computed, which takes as many predictions."""
MOST_ATTENDING = 2000
"""Cells of a complex whose attention is drawn, with an arc for every pair."""
ENCODING_COLUMNS, MOST_COLUMNS = 8, 64
SIZE = 5.0  # inches: letters can be read on a telephone


@dataclass(frozen=True)
class View:
    """What to show of a complex; raises ValueError where a choice does not exist."""

    kind: str = "complex"
    encoding: str = ""  # as of the run, if empty
    layer: int = 0
    head: int | None = None
    arrow: str = ""  # the first, if empty
    form: str = "arcs"
    method: str = "occlusion"
    output: int = 0

    KINDS = ("complex", "attention", "contributions", "predictions")

    def __post_init__(self) -> None:
        for word, value, choices in (
            ("view", self.kind, self.KINDS),
            ("form", self.form, ("arcs", "matrix")),
            ("method", self.method, ("occlusion", "gradients")),
        ):
            if value not in choices:
                raise ValueError(f"{word} is one of {', '.join(choices)}, not {value!r}")


@dataclass(frozen=True, eq=False)
class Shown:
    """A picture, what it shows in words, its numbers, and the arrows that could be chosen."""

    figure: Figure
    description: str
    table: pd.DataFrame
    arrows: list[tuple[str, str]]  # and in words
    panels: dict[str, Figure] = field(default_factory=dict)
    """Parts of the picture, where it has such, that a narrow window shows below each other."""


def show(explorer: Explorer, subject: Subject, view: View, theme: Theme) -> Shown:
    """Draws a view; raises ValueError, saying why, where there is nothing to draw."""
    match view.kind:
        case "complex":
            return _complex(subject, view, theme)
        case "attention":
            return _attention(explorer, subject, view, theme)
        case "predictions":
            return _predictions(explorer, subject, view, theme)
        case _:
            return _contributions(explorer, subject, view, theme)


def _labels(subject: Subject) -> list[str] | None:
    return None if subject.symbols is None else hetero_labels(subject.symbols)


def _complex(subject: Subject, view: View, theme: Theme) -> Shown:
    cells = subject.cells
    if view.encoding:
        chosen = parse_encodings(view.encoding, ENCODING_COLUMNS)
        if sum(encoding.size for encoding in chosen) > MOST_COLUMNS:
            raise ValueError(f"encodings are shown of up to {MOST_COLUMNS} columns")
        cells = encode(cells, chosen)
    figure = draw_complex(
        cells, positions=subject.positions, labels=_labels(subject), size=SIZE, theme=theme,
        orders=subject.orders,
    )  # fmt: skip
    columns = [f"encoding_{number}" for number in range(len(cells.encoding_signs))]
    parts = [pd.DataFrame(rows, columns=columns) for rows in cells.encodings]
    numbers = pd.concat(parts, ignore_index=True)
    table = pd.concat([_cells(subject), numbers], axis=1)
    figure = with_pixels(figure, cells)
    return Shown(figure, f"The complex of {subject.name}: {subject.told}", table, [])


def _attention(explorer: Explorer, subject: Subject, view: View, theme: Theme) -> Shown:
    if (total := sum(subject.cells.num_cells)) > MOST_ATTENDING:
        raise ValueError(
            f"this complex has {total} cells; attention is shown for up to {MOST_ATTENDING}"
        )
    found = attention_of(explorer.run.model, subject.cells)
    arrows = list(dict.fromkeys(one.arrow for one in found if len(one.weights)))
    if not arrows:
        raise ValueError("no cell of this complex attends to any other, so there is nothing to see")
    chosen = choose(found, view.layer, view.arrow or arrows[0])
    told = "the mean of all heads" if view.head is None else f"head {view.head}"
    words = _in_words(subject, chosen.arrow)
    title = f"layer {view.layer}, {told}\n{words}"
    if view.form == "matrix":
        figure = draw_attention_matrix(
            subject.cells, chosen, view.head, subject.symbols, title, size=SIZE, theme=theme
        )
    else:
        figure = draw_attention(
            subject.cells,
            chosen,
            view.head,
            subject.positions,
            _labels(subject),
            title,
            size=SIZE,
            theme=theme,
            orders=subject.orders,
        )
    description = f"Attention of layer {view.layer}, {told}, {words}"
    named = [(arrow, _in_words(subject, arrow)) for arrow in arrows]
    return Shown(figure, description, _pairs(subject, chosen), named)


def _in_words(subject: Subject, arrow: str) -> str:
    """``from bonds to rings`` for ``1 -> 2``; what else an arrow says stays."""
    ends = re.match(r"(\d+) -> (\d+)", arrow)
    if ends is None:
        return arrow
    sender, receiver = (subject.word(int(rank)) for rank in ends.groups())
    return f"from {sender} to {receiver}{arrow[ends.end() :]}"


def _predictions(explorer: Explorer, subject: Subject, view: View, theme: Theme) -> Shown:
    task = explorer.run.recipe.task
    outputs = outputs_for(explorer.run, subject.cells)
    figure = picture_of_cells(task, subject.cells, outputs, subject.truth, view.output,
                              subject.positions, theme=theme)  # fmt: skip
    figure = with_pixels(figure, subject.cells)
    table = _cells(subject)
    table = table[table["rank"] == task.rank].reset_index(drop=True)
    for name, values in columns_of(task, outputs[None], explorer.ends(outputs)).items():
        table[name] = values
    if subject.truth is not None:
        for number, target in enumerate(task.targets):
            table[f"truth_{target}"] = as_told(task, subject.truth[:, number])
    words = f"{subject.name} colored by {task.targets[view.output]}"
    panels = panels_of_cells(task, subject.cells, outputs, subject.truth, view.output,
                             subject.positions, theme)  # fmt: skip
    panels = {word: with_pixels(each, subject.cells) for word, each in panels.items()}
    return Shown(figure, f"{words}: {subject.told}", table, [], panels)


def _contributions(explorer: Explorer, subject: Subject, view: View, theme: Theme) -> Shown:
    total = sum(subject.cells.num_cells)
    if total > MOST_EXPLAINED:
        raise ValueError(
            f"this complex has {total} cells; contributions are shown for up to {MOST_EXPLAINED}"
        )
    method: Method = "gradients" if view.method == "gradients" else "occlusion"
    found = explain(explorer.run, subject.cells, method, view.output)
    figure = draw_contributions(
        subject.cells, found, subject.positions, _labels(subject), size=SIZE, theme=theme,
        orders=subject.orders,
    )  # fmt: skip
    table = _cells(subject)
    table["contribution"] = [value for rows in found.ranks for value in rows.tolist()]
    description = f"Contribution of each cell to the prediction {found.prediction:.4g}, by {method}"
    if found.reference is not None:
        description += f"; they sum to its difference from {found.reference:.4g}"
    if found.told:
        description += f"; {found.told}"
    return Shown(figure, description, table, [])


def _cells(subject: Subject) -> pd.DataFrame:
    """Rank, number and name of every cell."""
    names = cell_names(subject.cells, subject.symbols)
    rows: list[dict[str, Any]] = [
        {"rank": rank, "cell": number, "name": name}
        for rank, of_rank in enumerate(names)
        for number, name in enumerate(of_rank)
    ]
    return pd.DataFrame(rows, columns=["rank", "cell", "name"])


def _pairs(subject: Subject, attention: ArrowWeights) -> pd.DataFrame:
    names = cell_names(subject.cells, subject.symbols)
    table = pd.DataFrame(
        {
            "receiver": [names[attention.receiver_rank][number] for number in attention.receivers],
            "sender": [names[attention.sender_rank][number] for number in attention.senders],
        }
    )
    for head in range(attention.heads):
        table[f"head_{head}"] = attention.weights[:, head]
    return table
