"""Encodings by their names, as the command line and the configuration write them."""

import difflib
from collections.abc import Callable

from cellformer.encodings.bspe import BSPe
from cellformer.encodings.encode import Encoding
from cellformer.encodings.hodgelap import HodgeLap
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.encodings.rwpe import RWPe
from cellformer.encodings.slepians import Slepians
from cellformer.encodings.zeros import Zeros

ENCODINGS: dict[str, Callable[[int], Encoding]] = {
    "zeros": Zeros,
    "bspe": BSPe,
    "rwbspe": RWBSPe,
    "rwpe": RWPe,
    "hodgelap": HodgeLap,
    "slepians": Slepians,
}


def parse_encodings(text: str, size: int) -> tuple[Encoding, ...]:
    """The encodings that ``text`` names, such as ``"rwbspe+rwpe"`` or ``"bspe:4+rwpe:16"``.

    ``size`` is the number of columns of each one that does not carry its own. Raises ValueError
    for an unknown name, naming the nearest right one, and for a size that is not a
    positive integer.
    """
    return tuple(_parse(part.strip(), text, size) for part in text.split("+"))


def _parse(part: str, text: str, size: int) -> Encoding:
    name, colon, columns = (piece.strip() for piece in part.partition(":"))
    if name not in ENCODINGS:
        nearest = difflib.get_close_matches(name.lower(), ENCODINGS, n=1, cutoff=0.4)
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        raise ValueError(
            f"{name!r} in {text!r} is not an encoding; {hint}The encodings are "
            f"{', '.join(ENCODINGS)}, joined by '+'"
        )
    if colon and not columns.isdecimal():
        raise ValueError(f"the size of {name!r} in {text!r} must be a number, got {columns!r}")
    return ENCODINGS[name](int(columns) if colon else size)
