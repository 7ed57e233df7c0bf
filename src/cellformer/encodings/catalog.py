"""The encodings by their names. A new one is one file and one line here."""

import re
from collections.abc import Sequence

from cellformer.basics.parts.catalog import Catalog, Listed
from cellformer.basics.parts.reference import Reference

_SIZE = {"encoding_size": "size"}

ENCODINGS = Catalog(
    "encoding",
    {
        "zeros": Listed("cellformer.encodings.zeros:Zeros", _SIZE),
        "bspe": Listed("cellformer.encodings.bspe:BSPe", _SIZE),
        "rwbspe": Listed("cellformer.encodings.rwbspe:RWBSPe", _SIZE),
        "rwpe": Listed("cellformer.encodings.rwpe:RWPe", _SIZE),
        "hodgelap": Listed("cellformer.encodings.hodgelap:HodgeLap", _SIZE),
        "slepians": Listed("cellformer.encodings.slepians:Slepians", _SIZE),
    },
)

_SEPARATOR = re.compile(r"\+(?![^()]*\))")  # not within the arguments of a part
_LAST = re.compile(r"(.*):([^():]*)")


def encoding_parts(text: str) -> Sequence[Reference]:
    """What a text names, sizes among the arguments; raises ValueError. Nothing is imported."""
    parts = [part.strip() for part in _SEPARATOR.split(text)]
    if not all(parts):
        raise ValueError(
            f"{text!r} has an empty place; the encodings are {', '.join(ENCODINGS.names)}, "
            "joined by '+'"
        )
    return [_part(part, text) for part in parts]


def _part(part: str, text: str) -> Reference:
    found = _LAST.fullmatch(part)
    name, columns = (found[1].strip(), found[2].strip()) if found else (part, "")
    # What follows a module is the name of a part, all else a size.
    if found is None or not (":" in name or name in ENCODINGS.names or columns.isdecimal()):
        return ENCODINGS.check(part)
    if not columns.isdecimal():
        raise ValueError(f"the size of {name!r} in {text!r} must be a number, got {columns!r}")
    reference = ENCODINGS.check(name)
    if "size" in reference.arguments:
        raise ValueError(f"{part!r} in {text!r} has two sizes")
    return Reference(reference.name, {**reference.arguments, "size": int(columns)})
