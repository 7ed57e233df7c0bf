import gzip
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from campaign.damage import campaign
from cellformer.data.readers.gcb_npz import read_gcb
from cellformer.data.readers.mantra import read_mantra
from cellformer.data.readers.npz import read_npz
from cellformer.data.readers.point_files import read_points
from cellformer.data.readers.pyg_files import read_pyg
from cellformer.data.readers.tu_folder import read_tu
from cellformer.data.readers.zinc_pickles import read_zinc
from cellformer.data.tables.table import read_table
from raw_sets import gcb_file, write_tu, zinc_archive, zipped
from tiny import SMILES, write_molecules

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of torch.jit
    from torch_geometric.data import Data

SECONDS, MOST = 3.0, 60  # by hand it takes longer


def write_pyg(file):
    torch.save([Data(x=torch.rand(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]),
                     y=torch.ones(1))] * 3, file)  # fmt: skip


def write_mantra(file):
    tetrahedron = {"triangulation": [[1, 2, 3], [1, 2, 4], [1, 3, 4], [2, 3, 4]]}
    entries = [tetrahedron | {"id": name, "name": name} for name in ("a", "b")]
    file.write_bytes(gzip.compress(json.dumps(entries).encode()))


def write_table(file):
    pd.DataFrame({"smiles": SMILES, "y": range(24)}).to_parquet(file)


CHECKED = {  # by checksums of their own: what is read is right
    "a.npz": (lambda f: write_molecules(f, np.arange(24.0)), lambda f: read_npz(f).digest),
    "gcb.npz": (gcb_file, lambda f: read_gcb(f, "x").digest),
    "molecules.zip": (zinc_archive, lambda f: read_zinc(f, None, "x").digest),
    "T.zip": (
        lambda f: zipped(write_tu(f.parent.parent / "T"), f),
        lambda f: read_tu(f, "x").digest,
    ),
    "m.json.gz": (write_mantra, lambda f: read_mantra(f, "x").digest),
    "train.pt": (write_pyg, lambda f: read_pyg(f).digest),
}
UNCHECKED = {
    "p.npy": (lambda f: np.save(f, np.random.default_rng(0).random((9, 3))), read_points),
    "t.parquet": (write_table, read_table),
}


@pytest.mark.parametrize("name", [*CHECKED, *UNCHECKED])
@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header")
def test_a_damaged_file_is_named_in_a_line_or_read_as_it_was(tmp_path, name):
    write, read = (CHECKED | UNCHECKED)[name]
    (tmp_path / "right").mkdir()
    write(tmp_path / "right" / name)
    right, named = read(tmp_path / "right" / name), 0
    copy = tmp_path / "copy"
    for damage in campaign(
        tmp_path / "right", copy, 0, SECONDS, ("flip", "flip", "cut", "zeros"), MOST
    ):
        try:
            found = read(copy / name)
        except (ValueError, OSError) as error:
            message = str(error)
            assert name in message, damage
            assert "\n" not in message, damage
            named += 1
        else:
            assert name in UNCHECKED or found == right, damage
    assert named
