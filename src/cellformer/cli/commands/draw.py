"""Draw a complex, a tensor diagram, the attention of a prediction, or what it is made of."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser
from cellformer.model.config import AttentionName
from cellformer.training.config import DataConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        choices=("complex", "diagram", "attention", "contributions"),
        default="complex",
        help="attention and contributions are those of a prediction and need --run",
    )
    parser.add_argument(
        "--run", type=Path, default=None, help="a run folder; its data settings hold"
    )
    parser.add_argument("--index", type=int, default=0, help="the row to draw")
    parser.add_argument(
        "--columns", type=int, nargs="+", default=None,
        help="one column of the encodings, or three to be read as red, green and blue",
    )  # fmt: skip
    parser.add_argument("--layer", type=int, default=0, help="of the attention, from 0")
    parser.add_argument(
        "--head", type=int, default=None, help="of the attention, from 0 (default: mean of all)"
    )
    parser.add_argument(
        "--arrow", type=str, default="2->1", help="of the attention: sending and receiving rank"
    )
    parser.add_argument("--form", choices=("arcs", "matrix"), default="arcs", help="of attention")
    parser.add_argument(
        "--method",
        choices=("occlusion", "gradients"),
        default="occlusion",
        help="of contributions: leaving out one cell, or integrated gradients",
    )
    parser.add_argument(
        "--of-output", type=int, default=0, help="the target, or class, that is explained"
    )
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="of the page")
    parser.add_argument(
        "--lay-out", action="store_true", help="do not use positions that the data bring"
    )
    parser.add_argument("--title", type=str, default="", help="above the picture")
    parser.add_argument(
        "--attention", type=AttentionName, default="pairwise-sparse", help="whose diagram is drawn"
    )
    parser.add_class_arguments(DataConfig, "data", skip={"source"})


def run(arguments: Namespace) -> int:
    """Draws one picture and says where it is."""
    from cellformer.drawing.draw import picture_path, save_figure

    picture_path(arguments.output)
    figure = _diagram(arguments) if arguments.what == "diagram" else _picture(arguments)
    save_figure(figure, arguments.output)
    print(f"The picture is {arguments.output}")
    return 0


def _diagram(arguments: Namespace) -> "Figure":
    from cellformer.drawing.diagram import draw_diagram
    from cellformer.drawing.theme import THEMES
    from cellformer.model.plan import attention_plan
    from cellformer.training.runs.recipe import Recipe
    from cellformer.training.runs.run_folder import RunFolder

    plan = (
        attention_plan(arguments.attention)
        if arguments.run is None
        else Recipe.read(RunFolder(arguments.run)).plan
    )
    return draw_diagram(plan, arguments.title, THEMES[arguments.theme])


def _picture(arguments: Namespace) -> "Figure":
    from dataclasses import replace

    from cellformer.drawing.draw import draw_complex
    from cellformer.drawing.layout import layout
    from cellformer.drawing.molecule import atom_symbols, hetero_labels, molecule_positions
    from cellformer.drawing.theme import THEMES
    from cellformer.encodings.encode import encode
    from cellformer.training.build import build_encodings, settled
    from cellformer.training.config import RunConfig
    from cellformer.training.one_complex import one_complex, smiles_of
    from cellformer.training.runs.run_folder import RunFolder

    if arguments.source is None:
        raise ValueError("say what to draw: a data set, a mesh file or a SMILES string")
    data = arguments.data
    if arguments.run is not None:
        folder = RunFolder(arguments.run)
        data = RunConfig.from_json(folder.require(folder.config)).data
        data = replace(settled(data), target=())
    data = replace(data, source=arguments.source)
    cells = encode(one_complex(data, arguments.index), build_encodings(data))
    smiles = smiles_of(data, arguments.index)
    symbols = None if smiles is None else atom_symbols(smiles)
    positions = None if smiles is None else molecule_positions(smiles)
    if arguments.lay_out:
        positions = layout(cells)
    labels = None if symbols is None else hetero_labels(symbols)
    theme = THEMES[arguments.theme]
    if arguments.what == "complex":
        return draw_complex(cells, arguments.columns, positions=positions, labels=labels,
                            title=arguments.title, theme=theme)  # fmt: skip
    if arguments.run is None:
        raise ValueError(f"--what {arguments.what} explains a prediction: name a run by --run")

    from cellformer.training.answers.trained_run import TrainedRun

    trained = TrainedRun.open(arguments.run)
    title = arguments.title or None
    if arguments.what == "attention":
        from cellformer.drawing.attention import draw_attention, draw_attention_matrix
        from cellformer.explaining.attention import attention_of, choose

        chosen = choose(attention_of(trained.model, cells), arguments.layer, arguments.arrow)
        if arguments.form == "matrix":
            return draw_attention_matrix(cells, chosen, arguments.head, symbols, title,
                                         theme=theme)  # fmt: skip
        return draw_attention(cells, chosen, arguments.head, positions, labels, title, theme=theme)

    from cellformer.drawing.contributions import draw_contributions
    from cellformer.explaining.explain import explain

    found = explain(trained, cells, arguments.method, arguments.of_output)
    told = title or f"prediction {found.prediction:.4g}, by {arguments.method}"
    return draw_contributions(cells, found, positions, labels, told, theme=theme)
