"""The messages of campaigns, one of each kind, in a file for a person to read."""

import re
from collections.abc import Iterable
from pathlib import Path

QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
PATH = re.compile(r"[^\s:;,()'\"]*/[^\s:;,()'\"]*")
NUMBER = re.compile(r"[-+]?\d[\d.,e+-]*")


def kind_of(message: str) -> str:
    """What is left of a message without its numbers, paths and what it quotes."""
    for what, mark in ((QUOTED, "'...'"), (PATH, "PATH"), (NUMBER, "0")):
        message = what.sub(mark, message)
    return message


class Messages:
    """One message of each kind and campaign, and those of earlier sittings, in a file."""

    def __init__(self, file: Path):
        self.file = file
        self.by_kind: dict[tuple[str, str], str] = {}
        if file.exists():
            for line in file.read_text("utf-8").splitlines():
                name, _, message = line.partition("\t")
                self.by_kind[name, kind_of(message)] = message

    def add(self, campaign: str, said: Iterable[str]) -> None:
        """Of one case."""
        for message in filter(None, said):
            line = repr(message)[1:-1] if not message.isprintable() else message
            self.by_kind.setdefault((campaign, kind_of(line)), line)

    def write(self) -> None:
        """By campaign, and in order."""
        lines = sorted(f"{name}\t{message}\n" for (name, _), message in self.by_kind.items())
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("".join(lines), "utf-8")
