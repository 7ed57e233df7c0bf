"""The parts of each kind as a table, read off the lists that the commands read too."""

import inspect

from configuration import cell

import cellformer
from cellformer.cli.parts import FIELDS


def parts(field: str) -> str:
    """The names that a field of the configuration takes, such as ``data.lifting``."""
    rows = ["| name | what it is | in Python |", "|---|---|---|"]
    for name, listed in FIELDS[field].parts.items():
        found = listed.load()
        words = cell((inspect.getdoc(found) or "").partition("\n\n")[0])
        own = found.__name__
        public = getattr(cellformer, own, None) is found
        shown = f"{{py:obj}}`~cellformer.{own}`" if public else ""
        rows.append(f"| `{name}` | {words} | {shown} |")
    return "\n".join(rows)
