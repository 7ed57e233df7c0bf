"""The built-in set ``nci``: 4,999 molecules that RDKit ships, and their penalized logP.

The molecules are the file ``NCI/first_5K.smi`` of RDKit's data (from the open database of the US
National Cancer Institute), so a machine that reaches only the package index has them.

The target is logP - SA - max(0, size of the largest ring - 6), from RDKit's Crippen logP, the
synthetic accessibility score of Ertl and Schuffenhauer (J. Cheminform. 2009, 1:8) in RDKit's
contributed scorer, and RDKit's ring perception. It is the score of Gomez-Bombarelli et al. (ACS
Cent. Sci. 2018) without their standardization.
"""

import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from cellformer.basics.archives import kept_arrays
from cellformer.basics.cache import cache_entry
from cellformer.basics.files import replace_atomically
from cellformer.basics.progress import progress
from cellformer.data.dataset import PARTS, GraphSet, SmilesList, Task, digest_of
from cellformer.data.splitting.splits import scaffold_split

TARGET = "penalized logP"
VERSION = 1


def open_nci(cache_dir: str | os.PathLike[str] | None = None, shown: bool = True) -> GraphSet:
    """The molecules with their targets and a scaffold split 80/10/10, the same on every machine.

    The targets take some seconds to compute the first time and are kept in the cache. Molecules
    that the installed RDKit rejects keep their row, without target and in no part of the split.
    """
    smiles = SmilesList(_read_smiles())
    digest = smiles.digest()
    key = digest_of([f"{VERSION}", digest])[:16]
    kept = cache_entry("sources", f"nci-{key}.npz", cache_dir)
    targets, split = _read(kept) or _compute(smiles.smiles, kept, shown)
    return GraphSet(
        "nci",
        smiles,
        targets[:, None],
        Task("regression", (TARGET,), "mae"),
        split,
        digest,
    )


def penalized_logp() -> Callable[[str], float]:
    """A function from SMILES to the target; NaN for a molecule that RDKit rejects."""
    from rdkit import Chem, RDConfig, rdBase
    from rdkit.Chem import Crippen

    scorer = _load_scorer(Path(RDConfig.RDContribDir) / "SA_Score" / "sascorer.py")

    def score(smiles: str) -> float:
        with rdBase.BlockLogs():
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is None:
                return float("nan")
            largest = max(map(len, molecule.GetRingInfo().AtomRings()), default=0)
            logp: float = Crippen.MolLogP(molecule)  # type: ignore[attr-defined]
            return logp - float(scorer.calculateScore(molecule)) - max(0, largest - 6)

    return score


def _read_smiles() -> tuple[str, ...]:
    from rdkit import RDConfig

    file = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
    if not file.exists():
        raise FileNotFoundError(
            f"the installed RDKit has no {file}; install the rdkit package of the package index"
        )
    return tuple(line.split()[0] for line in file.read_text(encoding="utf-8").splitlines())


def _load_scorer(file: Path) -> Any:
    """RDKit's contributed module, which no package holds."""
    spec = importlib.util.spec_from_file_location("rdkit_sascorer", file)
    if spec is None or spec.loader is None or not file.exists():
        raise FileNotFoundError(
            f"the installed RDKit has no {file}; install the rdkit package of the package index"
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Computed = tuple[Float32[np.ndarray, " row"], dict[str, Any]]


def _read(kept: Path) -> Computed | None:
    arrays = kept_arrays(kept)
    if arrays is None or not {"targets", *PARTS} <= set(arrays):
        return None
    return arrays["targets"], {name: arrays[name] for name in PARTS}


def _compute(smiles: Sequence[str], kept: Path, shown: bool) -> Computed:
    score = penalized_logp()
    values = []
    with progress("Computing the targets of nci", len(smiles), shown) as done:
        for one in smiles:
            values.append(score(one))
            done(1)
    targets = np.asarray(values, np.float32)
    split = scaffold_split(smiles)
    with replace_atomically(kept, durable=False) as unfinished, unfinished.open("wb") as stream:
        np.savez(stream, allow_pickle=False, targets=targets, **split)
    return targets, split
