"""What takes long is made once, and kept beside what it was made of."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.timing import write_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def once(file: Path, kind: type[T], make: Callable[[], T]) -> T:
    """The dataclass that the file holds, or the one that is made now and kept there."""
    if file.exists():
        return kind(**json.loads(file.read_text(encoding="utf-8")))
    made = make()
    write_json(file, asdict(made))
    return made
