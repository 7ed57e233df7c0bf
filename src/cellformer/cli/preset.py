"""The options --preset and --from, which other defaults follow from."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from cellformer.cli.parsing import Parser
from cellformer.experiments.presets import PRESETS, flatten
from cellformer.training.config import RunConfig

OF_A_START = (
    "attention", "model.", "data.lifting", "data.max_length", "data.max_dim", "data.neighbors",
    "data.radius", "data.encodings", "data.encoding_size", "data.features", "data.ring_features",
)  # fmt: skip
"""What weights of another run can only be taken with: fields, and a group of them."""
OF_TARGETS = ("model.readout", "model.readout_layers", "model.readout_dropout")
"""What of these belongs to the targets of a pretraining, which nobody learns afterwards."""


def add_preset(parser: Parser, what: str) -> None:
    """The option, of which ``what`` says what it decides."""
    parser.add_argument("--preset", choices=sorted(PRESETS), default="default", help=what)


def preset_in(arguments: Sequence[str]) -> str:
    """The value of --preset, needed before parsing because other defaults follow from it."""
    given = _value(arguments, "--preset")
    return given if given in PRESETS else "default"


def defaults_in(arguments: Sequence[str], preset: RunConfig | None = None) -> dict[str, Any]:
    """Where all values start from: those of the preset, and of the run whose weights are taken.

    The preset is the one that is given, or else that of --preset.
    """
    from cellformer.training.runs.run_folder import RunFolder

    defaults = flatten(preset or PRESETS[preset_in(arguments)])
    start = _value(arguments, "--from", "--training.start_from", "--training.start-from")
    if start is not None:
        config = RunFolder.around(Path(start)).config
        if config.exists():
            theirs = flatten(RunConfig.from_json(config))
            skipped = OF_TARGETS if theirs["data.computed_targets"] else ()
            defaults |= {name: value for name, value in theirs.items()
                         if name.startswith(OF_A_START) and name not in skipped}  # fmt: skip
    return defaults


def _value(arguments: Sequence[str], *names: str) -> str | None:
    """What stands behind one of these options, or after its sign of equality."""
    for word, following in pairwise([*arguments, ""]):
        for name in names:
            if word == name or word.startswith(f"{name}="):
                return following if word == name else word.removeprefix(f"{name}=")
    return None
