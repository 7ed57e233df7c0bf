"""Draw a complex, a tensor diagram, the attention of a prediction, or what it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from cellformer.basics.files import check_folder
from cellformer.cli.parsing import OF_FEATURES, Parser, add_preparation
from cellformer.training.config import PreparationConfig

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float64
    from matplotlib.figure import Figure

    from cellformer.complexes.cell_complex import CellComplex


DEFAULTS = PreparationConfig(encodings="bspe")
"""Its first columns tell cells apart; those of random walks give most cells nearly the same."""
OF_PREDICTION = ("attention", "contributions", "predictions")
OF_CELLS = ("complex", "cochains", "flow", "subdivision", "transitions", *OF_PREDICTION)


@dataclass(frozen=True)
class Option:
    """An option that belongs to some of the pictures.

    Args:
        of: The pictures.
        help: What it says.
        default: What holds where it is not given.
        settings: How it is read, as ``add_argument`` has it.
    """

    of: tuple[str, ...]
    help: str
    default: Any
    settings: dict[str, Any]


OPTIONS = {
    "index": Option(OF_CELLS, "the row to draw", 0, {"type": int}),
    "columns": Option(
        ("complex",),
        "one column of the encodings, or three to be read as red, green and blue",
        None,
        {"type": int, "nargs": "+"},
    ),
    "cell": Option(
        ("transitions",), "where the walks are: rank and number of a cell", "0:0", {"type": str}
    ),
    "layer": Option(("attention",), "the layer, from 0", 0, {"type": int}),
    "head": Option(("attention",), "the head, from 0; without it the mean", None, {"type": int}),
    "arrow": Option(("attention",), "sending and receiving rank", "2->1", {"type": str}),
    "form": Option(("attention",), "its form", "arcs", {"choices": ("arcs", "matrix")}),
    "method": Option(
        ("contributions",),
        "leaving out one cell, or integrated gradients",
        "occlusion",
        {"choices": ("occlusion", "gradients")},
    ),
    "of-output": Option(
        ("contributions", "predictions"),
        "the target that is shown, or the class that is explained",
        0,
        {"type": int},
    ),
    "lay-out": Option(
        OF_CELLS, "do not use positions that the data bring", False,
        {"action": "store_const", "const": True},
    ),
    "attention": Option(
        ("diagram",), "whose diagram is drawn", "pairwise-sparse", {"type": str}
    ),
}  # fmt: skip


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer draw``."""
    parser.add_argument(
        "source",
        type=str,
        nargs="?",
        help="a data set by name or path, a mesh file, or a SMILES string; a diagram needs none",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="the picture, .png, .svg or .pdf"
    )
    parser.add_argument(
        "--what",
        choices=(*OF_CELLS, "diagram"),
        default="complex",
        help="cochains: the values of all cells; flow: that along edges, its gradient, curl and "
        "harmonic part; subdivision: the barycentric one and its graph; "
        "transitions: a step of two random walks; attention and contributions are those of a "
        "prediction and need --run; predictions: cells by truth, prediction and error, with --run",
    )
    parser.add_argument(
        "--run", type=Path, default=None, help="a run folder; its data settings hold"
    )
    for name, option in OPTIONS.items():
        told = f"of {' and '.join(option.of)}: {option.help}"
        if option.default is not None:
            told += f" (default: {option.default})"
        parser.add_argument(f"--{name}", default=None, help=told, **option.settings)
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="of the page")
    parser.add_argument("--title", type=str, default="", help="above the picture")
    add_preparation(parser, DEFAULTS, skip=OF_FEATURES)


def run(arguments: Namespace) -> int:
    """Draws one picture and says where it is."""
    from cellformer.drawing.draw import picture_path, save_figure

    check_folder(picture_path(arguments.output))
    chosen = _chosen(arguments)
    figure = (
        _diagram(arguments, chosen) if arguments.what == "diagram" else _picture(arguments, chosen)
    )
    save_figure(figure, arguments.output)
    print(f"The picture is {arguments.output}")
    return 0


def _chosen(arguments: Namespace) -> dict[str, Any]:
    """The options of this picture; raises ValueError for one that it has no use for."""
    chosen = {}
    for name, option in OPTIONS.items():
        given = arguments[name.replace("-", "_")]
        if given is not None and arguments.what not in option.of:
            raise ValueError(
                f"--{name} is of no use with --what {arguments.what}; it belongs to "
                f"{' and '.join(option.of)}"
            )
        chosen[name] = option.default if given is None else given
    described = arguments.data != DEFAULTS
    if described and (arguments.run is not None or arguments.what == "diagram"):
        why = "with a diagram" if arguments.run is None else "beside --run, whose own hold"
        raise ValueError(f"the options of --data are of no use {why}")
    return chosen


def _diagram(arguments: Namespace, chosen: dict[str, Any]) -> "Figure":
    from cellformer.drawing.diagram import draw_diagram
    from cellformer.drawing.theme import THEMES
    from cellformer.model.plans.named import attention_plan
    from cellformer.training.runs.recipe import Recipe
    from cellformer.training.runs.run_folder import RunFolder

    if arguments.source is not None:
        raise ValueError("a diagram is that of a model; it takes no source")
    if arguments.run is not None and arguments.attention is not None:
        raise ValueError("--attention is of no use beside --run, whose own holds")
    plan = (
        attention_plan(chosen["attention"])
        if arguments.run is None
        else Recipe.read(RunFolder.named(arguments.run)).plan
    )
    return draw_diagram(plan, arguments.title, THEMES[arguments.theme])


def _picture(arguments: Namespace, chosen: dict[str, Any]) -> "Figure":
    import numpy as np

    from cellformer.data.dataset import SmilesList
    from cellformer.drawing.draw import draw_complex
    from cellformer.drawing.layout import layout
    from cellformer.drawing.molecule import (
        atom_symbols,
        bond_orders,
        hetero_labels,
        molecule_positions,
    )
    from cellformer.drawing.theme import THEMES
    from cellformer.training.config import RunConfig
    from cellformer.training.materials.preparation import open_with
    from cellformer.training.runs.preparation import preparation_in
    from cellformer.training.runs.run_folder import RunFolder

    if arguments.source is None:
        raise ValueError("say what to draw: a data set, a mesh file or a SMILES string")
    if arguments.run is None:
        preparation, rows = open_with(arguments.data, arguments.source)
    else:
        folder = RunFolder.named(arguments.run)
        config = RunConfig.from_json(folder.require(folder.config))
        preparation = preparation_in(folder, config)
        rows = preparation.open(arguments.source)
    cells = preparation.one(rows, chosen["index"])
    listed = rows.graphs if isinstance(rows.graphs, SmilesList) else None
    smiles = None if listed is None else listed.in_graph_order(chosen["index"])
    symbols = None if smiles is None else atom_symbols(smiles)
    positions = None if smiles is None else molecule_positions(smiles)
    if chosen["lay-out"]:
        positions = layout(cells)
    labels = None if symbols is None else hetero_labels(symbols)
    orders = None if smiles is None else bond_orders(smiles, cells)
    theme = THEMES[arguments.theme]
    if arguments.what == "complex":
        return draw_complex(cells, chosen["columns"], positions=positions, labels=labels,
                            title=arguments.title, theme=theme, orders=orders)  # fmt: skip
    if arguments.what == "flow":
        from cellformer.drawing.flows import draw_flow, flow_of

        flow = flow_of(rows, chosen["index"], cells)
        return draw_flow(cells, flow, positions, arguments.title, theme=theme)
    if arguments.what not in OF_PREDICTION:
        return _of_complex(arguments, chosen, cells, positions, symbols)
    if arguments.run is None:
        raise ValueError(f"--what {arguments.what} shows a prediction: name a run by --run")

    from cellformer.training.answers.trained_run import TrainedRun

    trained = TrainedRun.open(arguments.run)
    title = arguments.title or None
    if arguments.what == "predictions":
        from cellformer.report.cell_pictures import outputs_for, picture_of_cells

        task = trained.recipe.task
        labeled = trained.preparation.open_new(arguments.source, task, labeled=True)
        known = labeled.task_or_none is not None and labeled.task.rank == task.rank
        truth = labeled.targets_of(np.array([chosen["index"]])) if known else None
        outputs, target = outputs_for(trained, cells), chosen["of-output"]
        return picture_of_cells(task, cells, outputs, truth, target, positions, arguments.title,
                                theme=theme)  # fmt: skip
    if arguments.what == "attention":
        from cellformer.drawing.attention import draw_attention, draw_attention_matrix
        from cellformer.explaining.attention import attention_of, choose

        found = choose(attention_of(trained.model, cells), chosen["layer"], chosen["arrow"])
        head = chosen["head"]
        if chosen["form"] == "matrix":
            return draw_attention_matrix(cells, found, head, symbols, title, theme=theme)
        return draw_attention(cells, found, head, positions, labels, title, theme=theme,
                              orders=orders)  # fmt: skip

    from cellformer.drawing.contributions import draw_contributions
    from cellformer.explaining.explain import explain

    explained = explain(trained, cells, chosen["method"], chosen["of-output"])
    told = title or f"prediction {explained.prediction:.4g}, by {chosen['method']}"
    if explained.told and not title:
        told += f"\n{explained.told}"
    return draw_contributions(cells, explained, positions, labels, told, theme=theme,
                              orders=orders)  # fmt: skip


def _of_complex(
    arguments: Namespace,
    chosen: dict[str, Any],
    cells: "CellComplex",
    positions: "Float64[np.ndarray, 'vertex 2'] | None",
    symbols: Sequence[str] | None,
) -> "Figure":
    """The figures of the paper."""
    from cellformer.drawing.theme import THEMES

    theme, title = THEMES[arguments.theme], arguments.title
    match arguments.what:
        case "cochains":
            from cellformer.drawing.cochains import draw_cochains

            return draw_cochains(cells, positions, symbols, title, theme=theme)
        case "subdivision":
            from cellformer.drawing.subdivision import draw_subdivision

            return draw_subdivision(cells, positions, title, theme=theme)
    from cellformer.drawing.transitions import draw_transitions

    rank, cell = _cell(chosen["cell"])
    return draw_transitions(cells, rank, cell, positions, symbols, title, theme=theme)


def _cell(text: str) -> tuple[int, int]:
    rank, _, number = text.partition(":")
    if not (rank.isdecimal() and number.isdecimal()):
        raise ValueError(f"--cell must be a rank and a number, such as 1:4, got {text!r}")
    return int(rank), int(number)
