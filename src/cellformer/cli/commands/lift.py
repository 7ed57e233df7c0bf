"""Show what a lifting makes: statistics of a set, a picture of one complex, what it will take."""

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from cellformer.basics.files import check_folder
from cellformer.cli.parsing import Parser, add_preparation, data_in
from cellformer.cli.preset import add_preset, preset_in
from cellformer.experiments.presets import PRESETS
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig

if TYPE_CHECKING:
    from cellformer.complexes.features import Features


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer lift``."""
    parser.add_argument(
        "source", type=str, help="a data set by name or path, a mesh file, or a SMILES string"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=None, help="picture of one complex, .png or .svg"
    )
    parser.add_argument("--index", type=int, default=0, help="the row to draw")
    parser.add_argument("--limit", type=int, default=1000, help="rows to take into the statistics")
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="say what cells, disk, time and memory the whole set will take, from --limit rows",
    )
    add_preset(
        parser,
        "where the values below, and the model that --estimate speaks of, start from",
    )
    parser.add_argument(
        "--attention",
        type=str,
        default=None,
        help="the attention of the model that --estimate speaks of (default: the preset's)",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=None,
        help="complexes per step of the training that --estimate speaks of (default: the preset's)",
    )
    add_preparation(parser, PRESETS[preset_in(arguments)].data)


def run(arguments: Namespace) -> int:
    """Prints a table of cells per rank and draws the chosen complex, colored by its encodings."""
    return _estimate(arguments) if arguments.estimate else _show(arguments)


def _show(arguments: Namespace) -> int:
    import numpy as np

    from cellformer.training.materials.preparation import open_with

    for name in ("attention", "batch_size"):
        if arguments[name] is not None:
            raise ValueError(f"--{name.replace('_', '-')} is of use with --estimate only")
    preset = PRESETS[arguments.preset].data
    for name in ("encodings", "encoding_size"):
        if getattr(arguments.data, name) != getattr(preset, name) and arguments.output is None:
            raise ValueError(f"data.{name} is of use to the picture only; say where it goes by -o")
    if arguments.output is not None:
        from cellformer.drawing.draw import picture_path

        check_folder(picture_path(arguments.output))
    preparation, rows = open_with(arguments.data, arguments.source)
    if not 0 <= arguments.index < len(rows):
        raise ValueError(f"{rows.name} has no row {arguments.index} (of {len(rows)}, from 0)")
    began = time.perf_counter()
    counts: list[tuple[int, ...]] = []
    columns: dict[int, str] = {}
    described = 0
    failures: list[tuple[int, ValueError]] = []
    for row, found in enumerate(islice(preparation.many(rows, encoded=False), arguments.limit)):
        if isinstance(found, ValueError):
            failures.append((row, found))
        else:
            counts.append(found.num_cells)
            columns |= {rank: _columns(rows) for rank, rows in enumerate(found.features)}
            described = 0 if found.descriptors is None else sum(found.descriptors.columns)
    seconds = time.perf_counter() - began
    print(f"{len(counts)} complexes by {arguments.data.lifting} in {seconds:.2f} s")
    for rank in range(max(map(len, counts), default=0)):
        of_rank = np.array([count[rank] if rank < len(count) else 0 for count in counts])
        print(
            f"rank {rank}: {of_rank.sum()} cells; per complex {of_rank.mean():.2f} on average, "
            f"{of_rank.min()} to {of_rank.max()}; {columns[rank]}"
        )
    if described:
        print(f"{described} descriptors of each complex")
    for row, error in failures[:10]:
        print(f"row {row} has no complex: {error}")
    if len(failures) > 10:
        print(f"... and {len(failures) - 10} more rows without a complex")
    if arguments.output is not None:
        from cellformer.data.dataset import SmilesList
        from cellformer.drawing.draw import save_picture
        from cellformer.drawing.molecule import molecule_positions

        cells = preparation.one(rows, arguments.index)
        listed = rows.graphs if isinstance(rows.graphs, SmilesList) else None
        smiles = None if listed is None else listed.in_graph_order(arguments.index)
        save_picture(
            cells,
            arguments.output,
            positions=None if smiles is None else molecule_positions(smiles),
        )
        print(f"row {arguments.index} is drawn in {arguments.output}")
    return 0 if counts else 1


def _columns(features: "Features") -> str:
    discrete, continuous, signed = features.columns
    told = f"{discrete} discrete and {continuous} continuous features"
    return f"{told}, {signed} that flip with the orientation" if signed else told


def _estimate(arguments: Namespace) -> int:
    """Prints what the whole set will take."""
    from cellformer.training.estimating.estimate import estimate
    from cellformer.training.estimating.words import told

    preset = PRESETS[arguments.preset]
    size = arguments.batch_size
    config = RunConfig(
        data_in(arguments, DataConfig(source=arguments.source)),
        arguments.attention or preset.attention,
        preset.model,
        preset.optimizer,
        preset.training if size is None else TrainingConfig(batch_size=size),
    )
    found = estimate(config, arguments.limit)
    for line in told(found, config):
        print(line)
    return 0 if found.complexes else 1
