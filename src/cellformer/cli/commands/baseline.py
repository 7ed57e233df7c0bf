"""Train a graph network of PyTorch Geometric on the same data in the same way, to compare."""

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.basics.messages import say
from cellformer.basics.stopping import RESUME_ME
from cellformer.cli.parsing import Parser, add_config_and_target, data_config_in
from cellformer.experiments.baselines.config import BASELINES, BaselineConfig
from cellformer.training.config import DataConfig, OptimizerConfig, TrainingConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer baseline``."""
    chosen = next((word for word in arguments if word in BASELINES), "gin")
    parser.add_argument(
        "network",
        choices=tuple(BASELINES),
        help="the network; each has its own --model options (gps --help shows those of gps)",
    )
    parser.add_argument("source", type=str, help="the data, as for train")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="the folder to train into or to go on with"
    )
    add_config_and_target(parser)
    parser.add_class_arguments(BASELINES[chosen], "model")
    parser.add_class_arguments(DataConfig, "data")
    parser.add_class_arguments(OptimizerConfig, "optimizer")
    parser.add_class_arguments(TrainingConfig, "training")
    encodings = "rwbspe:16" if chosen == "gps" else "zeros"
    parser.set_defaults(
        {
            "data.lifting": "skeleton",
            "data.encodings": encodings,
            "data.molecule_descriptors": "none",
        }
    )


def run(arguments: Namespace) -> int:
    """Trains and prints the result."""
    try:
        from cellformer.experiments.baselines.train import train_baseline
    except ModuleNotFoundError as missing:
        raise ImportError(
            "networks to compare with come from PyTorch Geometric: pip install 'cellformer[pyg]'"
        ) from missing
    from cellformer.training.answers.summary import describe
    from cellformer.training.loop.divergence import DIVERGED, TrainingDiverged
    from cellformer.training.loop.preemption import TrainingInterrupted

    data = data_config_in(arguments, arguments.source)
    config = BaselineConfig(arguments.model, data, arguments.optimizer, arguments.training)
    try:
        summary = train_baseline(config, arguments.output)
    except TrainingInterrupted:
        say("interrupted; go on with the same command")
        return RESUME_ME
    except TrainingDiverged as diverged:
        say(diverged)
        return DIVERGED
    print(describe(summary))
    print(f"Everything about this run is in {arguments.output}")
    return 0
