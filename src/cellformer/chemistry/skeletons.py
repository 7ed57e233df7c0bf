"""What two forms of one molecule have in common, by which they are known again."""

import contextlib
from collections.abc import Iterator

from rdkit import Chem, rdBase

from cellformer.chemistry.canonical import canonical_smiles
from cellformer.chemistry.fragments import largest_fragment
from cellformer.chemistry.limits import MAX_COMPUTED_ATOMS
from cellformer.chemistry.reasons import one_reason
from cellformer.chemistry.smiles import parse_smiles
from cellformer.chemistry.writing import written

TAUTOMERS = "/KET /15T"
"""InChI's options by which ketones are their enols, beside what its hydrogens do by themselves."""


def skeletons(smiles: str) -> Iterator[str]:
    """What two forms of one molecule have in common; nothing where there is no valid molecule.

    Of the largest fragment, then of all others that have carbon, large ones first: the first block
    of the InChIKey, without charges where hydrogens can make up for them. Salts, stereochemistry,
    isotopes, the place of mobile hydrogens and the order of the atoms do not count, nor whether a
    metal is bound or an ion. Where there is no InChI it is RDKit's SMILES of the fragment. The
    molecule that is meant need not be the largest: many acids are larger than the amines whose
    salts they make.
    """
    try:
        whole = _without_bound_metals(smiles)
        largest = largest_fragment(whole)
    except ValueError:
        return
    if (first := _key(largest)) is None:
        return
    yield first
    if "." in whole:
        # What RDKit writes has a dot between fragments alone; what it reads may not.
        others = [parse_smiles(text) for text in written(parse_smiles(whole)).split(".")]
        for each in sorted(others, key=_size, reverse=True):
            if any(atom.GetAtomicNum() == 6 for atom in each.GetAtoms()):
                key = _key(written(each))
                if key is not None and key != first:
                    yield key


def _size(molecule: Chem.Mol) -> int:
    return int(molecule.GetNumAtoms())


def _without_bound_metals(smiles: str) -> str:
    """The same text, or one where metals that make salts stand by themselves."""
    from rdkit.Chem.MolStandardize import rdMolStandardize

    molecule = parse_smiles(smiles)
    if molecule.GetNumAtoms() > MAX_COMPUTED_ATOMS:
        return smiles
    with rdBase.BlockLogs(), contextlib.suppress(ValueError), one_reason(smiles):
        apart = rdMolStandardize.MetalDisconnector().Disconnect(molecule)
        if apart.GetNumBonds() < molecule.GetNumBonds():
            return written(apart)
    return smiles


def _key(smiles: str) -> str | None:
    """Of one fragment."""
    from rdkit.Chem.MolStandardize import rdMolStandardize

    try:
        molecule = parse_smiles(smiles)
    except ValueError:
        return None
    key = ""
    if molecule.GetNumAtoms() <= MAX_COMPUTED_ATOMS:
        with rdBase.BlockLogs(), contextlib.suppress(ValueError), one_reason(smiles):
            neutral = rdMolStandardize.Uncharger(True, force=True).uncharge(molecule)
            key = Chem.MolToInchiKey(neutral, options=TAUTOMERS)  # type: ignore[no-untyped-call]
    return key.partition("-")[0] or canonical_smiles(smiles)
