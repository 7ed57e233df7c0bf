"""Search for good values of any fields of the configuration, with Ray Tune and Optuna."""

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.basics.messages import say
from cellformer.basics.stopping import RESUME_ME, StopRequests
from cellformer.cli.parsing import Parser, add_config_and_target, add_ray, add_slots, run_config_in
from cellformer.cli.preset import add_preset, defaults_in
from cellformer.training.config import RunConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer tune``."""
    parser.add_argument("source", type=str, help="a data set by name or path")
    parser.add_argument(
        "--space",
        type=Path,
        required=True,
        help="a YAML file of the fields to search, such as "
        "optimizer.peak_rate: {log_uniform: [1e-5, 1e-2]}; kinds are uniform, log_uniform, int, "
        "log_int and choice",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=None,
        help="the folder of the search; one that exists is gone on with (default: tuned/ and the "
        "name of the source)",
    )
    parser.add_argument(
        "--trials", type=int, default=20, help="trainings in all, earlier sessions included"
    )
    parser.add_argument(
        "--minutes", type=float, default=None, help="time for this session (default: no limit)"
    )
    add_ray(parser, "train")
    add_slots(parser)
    parser.add_argument(
        "--grace", type=int, default=1, help="epochs before which no trial is stopped early"
    )
    parser.add_argument(
        "--reduction",
        type=float,
        default=3.0,
        help="early stopping (ASHA): one of so many trials goes on from each rung",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the search")
    add_preset(parser, "where all values that are not searched start from")
    add_config_and_target(parser)
    parser.add_class_arguments(RunConfig, None)
    parser.set_defaults({**defaults_in(arguments), "ray": "local"})


def run(arguments: Namespace) -> int:
    """Searches, prints the best trials, and says where the best configuration is."""
    from cellformer.experiments.search.space import SearchSpace
    from cellformer.experiments.search.tune import Tuner
    from cellformer.training.loop.devices import check_device
    from cellformer.training.loop.loggers import check_logger

    base = run_config_in(arguments, arguments.source)
    if arguments.ray == "local":
        check_device(base.training)  # before a folder is made, and Ray is started
        check_logger(base.training)
    folder = arguments.output or Path("tuned") / (Path(arguments.source).name.split(".")[0])
    tuner = Tuner(
        trials=arguments.trials,
        minutes=arguments.minutes,
        address=arguments.ray,
        cpus=arguments.cpus,
        gpus=arguments.gpus,
        retries=arguments.retries,
        grace=arguments.grace,
        reduction=arguments.reduction,
        seed=arguments.seed,
    )
    space = SearchSpace.read(arguments.space, base)
    try:
        with StopRequests():
            found = tuner(base, space, folder)
    except KeyboardInterrupt:
        say(f"interrupted; the same command goes on with {folder}")
        return RESUME_ME
    for line in found.told():
        print(line)
    return 0 if found.best is not None else 1
