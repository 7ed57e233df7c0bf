"""How large a molecule may be: up to here, what RDKit does with one ends within seconds.

Most of it takes time that grows with the square of the number of atoms, ring perception with the
cube of the largest ring system. The limits on texts are looked at before RDKit sees them.
"""

import re

from cellformer.chemistry.reasons import quoted

MAX_CHARACTERS = 100_000
"""Of a SMILES."""
MAX_ATOMS = 10_000
"""As written, hydrogens too. Chains and trees of plain atoms may have as many as can be written:
reading them takes linear time. They get no fingerprint beyond this."""
MAX_PAIRED_ATOMS = 1_000
"""Of a molecule whose pairs of atoms are counted, which takes cubic time."""
MAX_COMPUTED_ATOMS = 300
"""Of a molecule of which all descriptors of RDKit are computed, some of them in quartic time."""
MAX_WRITTEN_ATOMS = 5_000
"""Of a molecule that RDKit writes as a SMILES: it walks along a chain by calls within calls, and
three times as many atoms overflow the stack of a process."""
MAX_DRAWN_ATOMS = 1_000
"""Of a structural formula and of a scaffold, both of which take cubic time."""
MAX_DRAWN_RINGS = 2_000
"""Of a structural formula: the time grows with a power of the rings that RDKit lists."""
MAX_ON_ONE_ATOM = 127
"""Hydrogens, neighbors and charges: RDKit counts them in eight bits and their sign."""

_ATOM = re.compile(r"\[[^\[\]]*\]|Cl|Br|[A-Za-z*]")
_NOT_PLAIN = re.compile(r"[\[\d%@/\\|.]")  # brackets, rings, stereo, extensions, fragments
_COUNT = re.compile(r"\[[^\[\]]*?(?:(?P<hydrogens>H)|[+-])(?P<count>\d{3,})")


def check_text(smiles: str) -> None:
    """Raises ValueError, saying which limit, where a SMILES is too large to be read.

    It must not be blank.
    """
    if len(smiles) > MAX_CHARACTERS:
        raise ValueError(
            f"the SMILES {quoted(smiles)} is longer than {MAX_CHARACTERS:,} characters; leave it "
            "out, or describe a part of the molecule"
        )
    written = smiles.split(maxsplit=1)[0]  # a name or an extension may follow
    for found in _COUNT.finditer(written):
        if int(found["count"]) > MAX_ON_ONE_ATOM:
            what = "hydrogens" if found["hydrogens"] else "charges"
            raise ValueError(
                f"{quoted(smiles)} has an atom with {found['count']} {what}; RDKit counts them up "
                f"to {MAX_ON_ONE_ATOM}"
            )
    if len(smiles) <= MAX_ATOMS or not _NOT_PLAIN.search(smiles):
        return
    atoms = sum(1 for _ in _ATOM.finditer(written))
    if atoms > MAX_ATOMS:
        raise ValueError(
            f"{quoted(smiles)} has {atoms:,} atoms; RDKit reads molecules with rings, brackets or "
            f"stereochemistry in time that grows with their square, so that {MAX_ATOMS:,} are "
            "allowed; leave it out, or describe a part of the molecule"
        )
