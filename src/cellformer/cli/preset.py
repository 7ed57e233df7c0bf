"""The option --preset, which other defaults follow from."""

from collections.abc import Sequence
from itertools import pairwise

from cellformer.cli.parsing import Parser
from cellformer.experiments.presets import PRESETS


def add_preset(parser: Parser, what: str) -> None:
    """The option, of which ``what`` says what it decides."""
    parser.add_argument("--preset", choices=sorted(PRESETS), default="default", help=what)


def preset_in(arguments: Sequence[str]) -> str:
    """The value of --preset, needed before parsing because other defaults follow from it."""
    for word, following in pairwise([*arguments, ""]):
        value = following if word == "--preset" else word.removeprefix("--preset=")
        if word.startswith("--preset") and value in PRESETS:
            return value
    return "default"
