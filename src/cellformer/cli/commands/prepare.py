"""Prepare the complexes of a data set for all later trainings, here or on a cluster."""

import time
from collections.abc import Sequence

from jsonargparse import Namespace

from cellformer.basics.messages import say
from cellformer.basics.stopping import RESUME_ME, StopRequests
from cellformer.cli.parsing import (
    OF_RAY,
    Parser,
    add_config_and_target,
    add_ray,
    check_ray,
    data_config_in,
)
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
        default=OF_RAY["retries"],
        help="with --ray: how often a part that lost its worker or machine is made again",
    )
    parser.add_argument(
        "--to",
        type=str,
        metavar="URL",
        help="copy what is prepared to a folder at a URL (s3://..., gs://..., file://...), where "
        "machines whose CELLFORMER_REMOTE says that URL read it from",
    )
    parser.add_argument(
        "--pack",
        action="store_true",
        help="with --to: put each part there compressed too, which is then what is fetched",
    )
    add_preset(parser, "where the values below start from")
    add_config_and_target(parser)
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
    from cellformer.complexes.many.remote import put_store
    from cellformer.complexes.many.store import folder_of
    from cellformer.data.dataset import digest_of
    from cellformer.training.materials.materials import Materials, gathered
    from cellformer.training.materials.preparation import preparation_of
    from cellformer.training.materials.rows import open_rows

    check_ray(arguments)
    if arguments.pack and arguments.to is None:
        raise ValueError("--pack says how --to copies; give a URL with it")
    executor = None
    if arguments.ray is not None:
        from cellformer.experiments.ray.shards import RayShards

        executor = RayShards(arguments.ray, arguments.retries)
    config = data_config_in(arguments, arguments.source)
    preparation = preparation_of(config, config.source)
    rows = open_rows(config, preparation)
    began = time.monotonic()
    materials: Materials | None = None
    try:
        with StopRequests():
            if rows.source.task_or_none is None:
                stored = preparation.stored(rows.source, workers=config.workers, executor=executor)
                complexes, failures = stored.complexes, stored.failures
            else:
                materials = gathered(rows, config, preparation, executor)
                complexes, failures = materials.complexes, materials.failures
    except KeyboardInterrupt:
        say("interrupted; the same command goes on")
        return RESUME_ME
    seconds = time.monotonic() - began
    cells = ", ".join(str(int(rank.offsets[-1])) for rank in complexes.ranks)
    print(
        f"{len(complexes)} complexes with {cells} cells of rank 0, 1, ... in {seconds:.1f} s, "
        f"{len(rows.source) / max(seconds, 1e-9):.0f} rows per second"
    )
    if complexes.descriptors is not None:
        print(f"{sum(complexes.descriptors.columns)} descriptors of each complex")
    for row, reason in failures[:10]:
        print(f"row {row} has no complex: {reason}")
    if len(failures) > 10:
        print(f"... and {len(failures) - 10} more rows without a complex")
    if materials is not None:
        task = materials.task
        parts = ", ".join(f"{len(chosen)} {part}" for part, chosen in materials.split.items())
        name = digest_of(materials.split.values())[:8]
        print(
            f"A training with the same values learns {', '.join(task.targets)} ({task.kind}, "
            f"judged by {task.metric}) from the split {name}: {parts}"
        )
    folder = folder_of(complexes)
    if folder is not None:
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"They are in {folder}, {size / 1e6:.1f} MB")
        if arguments.to is not None:
            put_store(folder, f"{arguments.to.rstrip('/')}/{folder.name}", packed=arguments.pack)
            print(f"They are in {arguments.to} too: CELLFORMER_REMOTE={arguments.to}")
    return 0
