"""What help shows: the common options, or all of them, each with what it takes said once."""

from argparse import SUPPRESS, Action
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jsonargparse import DefaultHelpFormatter

SHORT = {
    "--epochs": "training.epochs",
    "--batch-size": "training.batch_size",
    "--lr": "optimizer.peak_rate",
    "--seed": "training.seed",
    "--device": "training.device",
    "--from": "training.start_from",
}
"""Names that anyone would guess, of fields of the configuration."""
RARE = ("print_config", "import", "data", "model", "optimizer", "training", "objectives")
"""Options without a dot that only the full help shows."""
TOLD_ELSEWHERE = ("data.source", "data.target")
"""Fields that are another argument too, which help explains; a file may give them."""


class Formatter(DefaultHelpFormatter):
    """Without types, which say less than the help does, and defaults that are nothing."""

    def _get_help_string(self, action: Action) -> str:
        told = str(action.help or "")
        if getattr(action, "_jsonargparse_preexpanded_help", False) or "default" in told:
            return told
        nothing = any(action.default is each for each in (None, False, SUPPRESS))
        empty = isinstance(action.default, list | tuple) and not action.default
        takes = action.option_strings and action.nargs != 0
        return told if nothing or empty or not takes else f"{told} (default: %(default)s)"


def add_short_names(parser: Any) -> None:
    """Gives the fields that a parser has their short names, unless it has others of that name."""
    known: dict[str, Action] = parser._option_string_actions
    for short, field in SHORT.items():
        action = known.get(f"--{field}")
        if action is not None and short not in known:
            action.option_strings = [short, *action.option_strings]
            known[short] = action


@contextmanager
def hidden(actions: Sequence[Action]) -> Iterator[None]:
    """Within this context help does not show these; elsewhere that would keep them from files."""
    told = [action.help for action in actions]
    for action in actions:
        action.help = SUPPRESS
    try:
        yield
    finally:
        for action, words in zip(actions, told, strict=True):
            action.help = words


def to_hide(parser: Any, whole: bool) -> list[Action]:
    """The options that are told elsewhere, and those rarely wanted unless all are to be shown."""
    options = parser._option_string_actions
    found = []
    for action in parser._actions:
        own = action.dest.partition("=")[0]
        common = "." not in own or any(short in options and options[short] is action
                                       for short in SHORT)  # fmt: skip
        told = own in TOLD_ELSEWHERE or (not whole and (not common or own in RARE))
        if action.option_strings and told:
            found.append(action)
    return found
