"""The commands that `results/` was made by are still ones that a training begins with."""

import re
import shlex
from pathlib import Path

import pytest

from cellformer.cli.main import build_parser
from cellformer.cli.parsing import run_config_in

README = Path(__file__).parents[2] / "results" / "README.md"
COMMANDS = re.findall(r"`cellformer (train [^`]*)`", README.read_text("utf-8"))


def test_there_are_commands_to_look_at():
    assert len(COMMANDS) > 3


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_a_configuration(command):
    words = shlex.split(command.replace(" (and so on)", ""))
    parser = build_parser(words)
    arguments = parser.instantiate(parser.parse_args(words)).train
    config = run_config_in(arguments, arguments.source)
    assert config.data.source == words[1]
