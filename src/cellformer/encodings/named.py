"""Encodings by their names, as the command line and the configuration write them."""

from cellformer.basics.parts.reference import Reference
from cellformer.encodings.catalog import ENCODINGS, encoding_parts
from cellformer.encodings.encode import Encoding


def parse_encodings(text: str, size: int) -> tuple[Encoding, ...]:
    """The encodings that ``text`` names, such as ``"rwbspe+rwpe"`` or ``"bspe:4+rwpe:16"``.

    ``size`` is the number of columns of each listed one that does not carry its own. One of your
    own is ``package.module:Name(argument=value)``. Raises ValueError for an unknown name, naming
    the nearest right one, and for a size that is not a positive integer, and as `Catalog.make`.
    """
    return tuple(_made(part, size) for part in encoding_parts(text))


def _made(part: Reference, size: int) -> Encoding:
    made: Encoding = ENCODINGS.make(str(part), encoding_size=size)
    return made
