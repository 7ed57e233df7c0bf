"""Copy the examples of the documentation: two small tables and a notebook."""

import filecmp
import shutil
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from jsonargparse import Namespace

from cellformer.basics.files import replace_atomically
from cellformer.cli.parsing import Parser


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer examples``."""
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path("examples"),
        help="where to put them; it is made if need be, and no file of yours is replaced",
    )


def run(arguments: Namespace) -> int:
    """Copies what is not there yet; raises FileExistsError where another file has its name."""
    with as_file(files("cellformer") / "examples") as kept:
        originals = sorted(path for path in kept.iterdir() if path.is_file())
        missing = []
        for original in originals:
            copy = arguments.folder / original.name
            if not copy.exists():
                missing.append((original, copy))
            elif not filecmp.cmp(original, copy, shallow=False):
                raise FileExistsError(f"{copy} is not the example of that name; choose a folder")
        arguments.folder.mkdir(parents=True, exist_ok=True)
        for original, copy in missing:
            with replace_atomically(copy) as unfinished:
                shutil.copyfile(original, unfinished)
    for original in originals:
        print(arguments.folder / original.name)
    return 0
