"""Prepare the complexes of a data set for all later trainings, here or on a cluster."""

import sys
import time
from collections.abc import Sequence

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser, add_ray
from cellformer.cli.preset import add_preset, preset_in
from cellformer.experiments.presets import PRESETS, flatten
from cellformer.training.config import DataConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer prepare``."""
    parser.add_argument("source", type=str, help="a data set by name or path")
    add_ray(parser, "prepare")
    parser.add_argument(
        "--retries",
        type=int,
        default=3,
        help="with --ray: how often a part that lost its worker or machine is made again",
    )
    add_preset(parser, "where the values below start from")
    parser.add_class_arguments(DataConfig, "data", skip={"source"})
    preset = flatten(PRESETS[preset_in(arguments)])
    parser.set_defaults(
        {
            name: value
            for name, value in preset.items()
            if name.startswith("data.") and name != "data.source"
        }
    )


def run(arguments: Namespace) -> int:
    """Prepares what ``train`` with the same values finds in the cache, and says what it is."""
    from dataclasses import replace

    from cellformer.complexes.many.store import folder_of
    from cellformer.training.loop.preemption import RESUME_ME
    from cellformer.training.materials.materials import prepare_source
    from cellformer.training.materials.rows import open_rows

    config = replace(arguments.data, source=arguments.source)
    executor = None
    if arguments.ray is not None:
        from cellformer.experiments.ray.shards import RayShards

        executor = RayShards(arguments.ray, arguments.retries)
    source = open_rows(config).source
    began = time.monotonic()
    try:
        prepared = prepare_source(source, config, executor)
    except KeyboardInterrupt:
        print("cellformer: interrupted; the same command goes on", file=sys.stderr)
        return RESUME_ME
    seconds = time.monotonic() - began
    cells = ", ".join(str(int(rank.offsets[-1])) for rank in prepared.complexes.ranks)
    print(
        f"{len(prepared.rows)} complexes with {cells} cells of rank 0, 1, ... in {seconds:.1f} s, "
        f"{len(source) / max(seconds, 1e-9):.0f} rows per second"
    )
    for row, reason in prepared.failures[:10]:
        print(f"row {row} has no complex: {reason}")
    if len(prepared.failures) > 10:
        print(f"... and {len(prepared.failures) - 10} more rows without a complex")
    folder = folder_of(prepared.complexes)
    if folder is not None:
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"They are in {folder}, {size / 1e6:.1f} MB")
    return 0
