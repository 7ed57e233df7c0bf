"""Which modules of a user's own may be imported, because the user named them.

A run folder or a configuration file can come from anywhere, so what it names is never imported
for that reason alone.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from cellformer.basics.parts.reference import FILE_ENDING, module_name
from cellformer.basics.suggestions import unknown_choice

_allowed: dict[str, str] = {}  # the name of a module, and what the user called it


class PartRefusedError(ValueError):
    """A file names code that the user has not named."""


def allow_parts(*modules: str) -> None:
    """Lets run folders and configuration files use the parts in these modules.

    Each is the name of a module or package, as ``import`` has it, or the path of a file ending in
    ``.py``, which is known by its name without the ending. On the command line a module is named
    by ``--import``, or by choosing a part of it. Raises ImportError if one cannot be imported.
    """
    for module in modules:
        if module.endswith(FILE_ENDING):
            _load_file(Path(module), module)
        else:
            _import(module, module)
            _allowed[module] = module


def allowed_parts() -> tuple[str, ...]:
    """What `allow_parts` was called with, for other processes to be told the same."""
    return tuple(_allowed.values())


def allowed_modules() -> tuple[str, ...]:
    """The names of these modules, all of which are imported."""
    return tuple(_allowed)


def resolve(module: str, attribute: str, what: str) -> Any:
    """What a user's module calls by this name.

    ``what`` is said of it in errors. Raises PartRefusedError unless the user named the module or
    a package that it is in, ImportError, and ValueError unless it is defined in that module.
    """
    name = module_name(module)
    if not any(name == known or name.startswith(f"{known}.") for known in _allowed):
        raise PartRefusedError(
            f"{what} {module}:{attribute} is code of {module}, which is imported only if you name "
            f"it: add --import {module} if you trust it "
            f"(in Python: cellformer.allow_parts({module!r}))"
        )
    home = _import(name, module)
    found = getattr(home, attribute, None)
    if found is None:
        own = [n for n, v in vars(home).items() if getattr(v, "__module__", None) == name]
        raise unknown_choice(f"part of {module}", attribute, [n for n in own if n[0] != "_"])
    if getattr(found, "__module__", None) != name:
        raise ValueError(
            f"{what} {module}:{attribute} is not defined in {module}; name its own module"
        )
    return found


def _load_file(file: Path, word: str) -> None:
    """Other processes find the module by the path that they inherit."""
    if not file.is_file():
        raise ImportError(f"there is no file {file}")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    home = _import(file.stem, word)
    if Path(getattr(home, "__file__", None) or "").resolve() != file.resolve():
        raise ImportError(
            f"{file} cannot be imported, as another module is named {file.stem!r} "
            f"({getattr(home, '__file__', 'built in')}); rename the file"
        )
    _allowed[file.stem] = str(file.resolve())


def _import(name: str, word: str) -> ModuleType:
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ImportError(
                f"there is no module {word!r}; install it, or give the path of its file, ending in "
                ".py"
            ) from None
        raise ImportError(f"{word} imports {error.name}, which is not installed") from error
