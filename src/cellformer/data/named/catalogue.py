"""The benchmark sets that are known by name."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from cellformer.basics.suggestions import did_you_mean
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.data.dataset import GraphSet, Metric
from cellformer.data.flat import FlatGraphs
from cellformer.data.named.benchmark_set import Form, NamedSet, RemoteFile
from cellformer.data.named.fields import FIELD_SETS
from cellformer.data.named.gcb import generate_gcb
from cellformer.data.named.surfaces import SURFACE_SETS
from cellformer.data.readers.gcb_npz import GCB_TASK, read_gcb
from cellformer.data.readers.mantra import read_mantra
from cellformer.data.readers.npz import read_npz, write_flat
from cellformer.data.readers.ogb_folder import read_ogb
from cellformer.data.readers.tu_folder import read_tu
from cellformer.data.readers.zinc_pickles import read_zinc
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import read_table

GITHUB_RAW = "https://raw.githubusercontent.com"


def _open_layout(path: Path, name: str, metric: Metric | None = None) -> GraphSet:
    return read_npz(path, metric=metric, name=name)


def _gcb_layout(path: Path, name: str) -> GraphSet:
    return replace(_open_layout(path, name), task_or_none=GCB_TASK)


def _smiles(
    path: Path, name: str, *, target: str, metric: Metric, scheme: MoleculeScheme = "standard"
) -> GraphSet:
    """A table of molecules; a column "split" is its split."""
    read = molecules(read_table(path), (target,), "smiles", "regression", metric, features=scheme)
    return replace(read, name=name)


def _keep(read: GraphSet, result: Path) -> None:
    """Writes a set in the open layout."""
    assert isinstance(read.graphs, FlatGraphs)
    task = read.task
    y = read.targets if task.kind == "regression" else read.targets.astype(int)
    write_flat(
        result,
        read.graphs,
        y[:, 0] if len(task.targets) == 1 else y,
        read.split,
        task.kind,
        task.targets if len(task.targets) > 1 else None,
        overwrite=True,
    )


def _keep_ogb(raw: Path, result: Path) -> None:
    _keep(read_ogb(raw / "hiv.zip", "molhiv"), result)


_INDEX = {"train": "train.index", "val": "val.index", "test": "test.index"}


def _keep_zinc(raw: Path, result: Path) -> None:
    indices = {part: raw / file for part, file in _INDEX.items()}
    _keep(read_zinc(raw / "molecules.zip", indices, "zinc"), result)


def _keep_zinc_full(raw: Path, result: Path) -> None:
    _keep(read_zinc(raw / "molecules.zip", None, "zinc-full"), result)


_MOLECULES_ZIP = RemoteFile(
    "molecules.zip", "https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1"
)
_ZINC_LICENSE = (
    "benchmarking-gnns: MIT. The molecules are those of the ZINC database, free to use; ZINC asks "
    "that major portions not be redistributed"
)
_ZINC_CITATION = "Dwivedi et al., Benchmarking Graph Neural Networks, JMLR 24 (2023)"

_ZINC = (
    NamedSet(
        name="zinc",
        title="ZINC-12k: constrained solubility of drug-like molecules",
        homepage="https://github.com/graphdeeplearning/benchmarking-gnns",
        license=_ZINC_LICENSE,
        citation=_ZINC_CITATION,
        split="official, 10,000 / 1,000 / 1,000",
        metric="mae",
        graphs=12_000,
        parts=(10_000, 1_000, 1_000),
        forms=(Form("zinc/zinc12k_graphs.npz", _open_layout),),
        remote=(
            _MOLECULES_ZIP,
            *(
                RemoteFile(
                    file,
                    f"{GITHUB_RAW}/graphdeeplearning/benchmarking-gnns/master/data/molecules/{file}",
                )
                for file in _INDEX.values()
            ),
        ),
        convert=_keep_zinc,
        scheme="zinc",
        remarks="The published pickles are read without being run. Features: the number of the "
        "atom type (28) and of the bond type (3).",
    ),
    NamedSet(
        name="zinc-full",
        title="ZINC-full: the same targets for 249,456 molecules",
        homepage="https://github.com/graphdeeplearning/benchmarking-gnns",
        license=_ZINC_LICENSE,
        citation=_ZINC_CITATION,
        split="official, 220,011 / 24,445 / 5,000",
        metric="mae",
        graphs=249_456,
        parts=(220_011, 24_445, 5_000),
        forms=(
            Form("zinc/zinc_full_graphs.npz", _open_layout),
            Form(
                "zinc/zinc_full_smiles.csv.gz",
                partial(_smiles, target="y", metric="mae", scheme="zinc"),
            ),
        ),
        remote=(_MOLECULES_ZIP,),
        convert=_keep_zinc_full,
        scheme="zinc",
        remarks="Also read from a table zinc_full_smiles.csv.gz (smiles, split, y), whose graphs "
        "get the features of ZINC-12k.",
    ),
)

_MOLHIV = NamedSet(
    name="molhiv",
    title="ogbg-molhiv: inhibition of HIV replication",
    homepage="https://ogb.stanford.edu/docs/graphprop/",
    license="MIT (OGB); the screening data (DTP AIDS Antiviral Screen) are public data of the US "
    "government",
    citation="Hu et al., Open Graph Benchmark, NeurIPS 2020; Wu et al., MoleculeNet, 2018",
    split="official scaffold split, 32,901 / 4,113 / 4,113",
    metric="rocauc",
    graphs=41_127,
    parts=(32_901, 4_113, 4_113),
    forms=(Form("molhiv/molhiv_graphs.npz", _open_layout),),
    remote=(
        RemoteFile(
            "hiv.zip", "https://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/hiv.zip"
        ),
    ),
    convert=_keep_ogb,
    scheme="ogb",
    remarks="Read from OGB's CSV files, without the ogb package. Features: OGB's nine of atoms and "
    "three of bonds.",
)

_GCB_SUMS = {
    "hard_small": ("d9a91ce97c21f7a8c17ad3a5e470e9d16dc0f7f98c01787100b2f4ca23e54385", 1_159_209),
    "easy_small": ("d7e6b211e866668c66229c6566efb0d6f2102be8d7ec36f3894da7928024fbac", 1_518_184),
}
_GCB_PARTS = {
    "hard": (1_451, 159, 190),
    "hard_small": (245, 29, 26),
    "easy": (1_475, 162, 163),
    "easy_small": (239, 30, 31),
}


def _gcb(file: str) -> NamedSet:
    name = f"gcb-{file.replace('_', '-')}"
    sha256, size = _GCB_SUMS.get(file, (None, None))
    drawn = Form(
        f"gcb/{file}_regenerated_seed0_flat.npz",
        _gcb_layout,
        regenerated="a new draw by the authors' generator, with seed 0",
    )
    return NamedSet(
        name=name,
        title="Graph classification benchmark: "
        + f"{file.split('_')[0]} set{', small' if 'small' in file else ''}",
        homepage="https://github.com/FilippoMB/Benchmark_dataset_for_graph_classification",
        license="MIT",
        citation="Bianchi, Gallicchio, Micheli, Pyramidal Reservoir Graph Neural Network, "
        "Neurocomputing 470 (2022)",
        split="official, " + " / ".join(f"{part:,}" for part in _GCB_PARTS[file]),
        metric="accuracy",
        graphs=sum(_GCB_PARTS[file]),
        parts=_GCB_PARTS[file],
        forms=(
            Form(f"gcb/{file}.npz", read_gcb),
            Form(f"gcb/{file}_flat.npz", _gcb_layout),
            drawn,
        ),
        remote=(
            RemoteFile(
                f"gcb/{file}.npz",
                f"{GITHUB_RAW}/FilippoMB/Benchmark_dataset_for_graph_classification/master/"
                f"datasets/{file}.npz",
                sha256,
                size,
            ),
        ),
        generate=partial(generate_gcb, name),
        remarks="The published file holds pickles; they are read without being run. Where it is "
        "not on the machine, graphs of the same kind are drawn anew and called regenerated: "
        "results on them are comparable with published ones in distribution only.",
    )


def _tu(name: str, title: str, graphs: int, remarks: str) -> NamedSet:
    prefix = name.upper()
    return NamedSet(
        name=name,
        title=title,
        homepage="https://chrsmrrs.github.io/datasets/",
        license="none stated by TUDataset",
        citation="Morris et al., TUDataset, ICML 2020 workshop GRL+",
        split="none official (folds are drawn by each paper); random unless chosen otherwise",
        metric="accuracy",
        graphs=graphs,
        parts=None,
        forms=(
            Form(f"tu/{prefix}.zip", read_tu),
            Form(f"tu/{prefix}", read_tu),
            Form(f"extra/{name}_flat.npz", partial(_open_layout, metric="accuracy")),
        ),
        remote=(
            RemoteFile(
                f"tu/{prefix}.zip", f"https://www.chrsmrrs.com/graphkerneldatasets/{prefix}.zip"
            ),
        ),
        remarks=remarks,
    )


def _moleculenet(
    name: str, title: str, graphs: int, target: str, url_file: str, local: str, license: str,
    remarks: str, sha256: str | None = None, size: int | None = None,
) -> NamedSet:  # fmt: skip
    read: Callable[[Path, str], GraphSet] = partial(_smiles, target=target, metric="rmse")
    return NamedSet(
        name=name,
        title=title,
        homepage="https://moleculenet.org",
        license=license,
        citation="Wu et al., MoleculeNet, Chem. Sci. 9 (2018)",
        split="random, as MoleculeNet recommends; it publishes no rows",
        metric="rmse",
        graphs=graphs,
        parts=None,
        forms=(Form(f"moleculenet/{url_file}", read), Form(f"extra/{local}", read)),
        remote=(
            RemoteFile(
                f"moleculenet/{url_file}",
                f"https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/{url_file}",
                sha256,
                size,
            ),
        ),
        scheme="standard",
        remarks=remarks,
    )


NAMED_SETS: dict[str, NamedSet] = {
    named.name: named
    for named in (
        *_ZINC,
        _MOLHIV,
        *(_gcb(file) for file in _GCB_PARTS),
        _tu(
            "mutag",
            "MUTAG: mutagenicity of nitroaromatic compounds",
            188,
            "Classes -1 and 1 in the official archive. Read from an open-layout file, the classes "
            "and their order are that file's.",
        ),
        _tu("proteins", "PROTEINS: enzymes or not", 1_113, "Classes 1 and 2."),
        _moleculenet(
            "esol",
            "ESOL: water solubility, log mol/l",
            1_128,
            "measured log solubility in mols per litre",
            "delaney-processed.csv",
            "esol_delaney-processed.csv.gz",
            "MIT (DeepChem)",
            "The other columns, a prediction among them, are not used.",
            "8c06a76f0c6487d29ab0f903e6a7a7139f189ab3c1178f159c8be8964602f189",
            96_699,
        ),
        _moleculenet(
            "freesolv",
            "FreeSolv: hydration free energy, kcal/mol",
            642,
            "expt",
            "SAMPL.csv",
            "freesolv.csv.gz",
            "Creative Commons (FreeSolv): read its terms before redistributing",
            "",
        ),
        _moleculenet(
            "lipo",
            "Lipophilicity: octanol/water distribution at pH 7.4, logD",
            4_200,
            "exp",
            "Lipophilicity.csv",
            "lipophilicity.csv.gz",
            "CC BY-SA 3.0 (ChEMBL)",
            "",
        ),
        NamedSet(
            name="mantra",
            title="MANTRA: triangulated surfaces with up to 10 vertices, by homeomorphism type",
            homepage="https://github.com/aidos-lab/mantra",
            license="BSD 3-Clause",
            citation="Ballester et al., MANTRA: The Manifold Triangulations Assemblage, ICLR 2025",
            split="none official; random unless chosen otherwise",
            metric="accuracy",
            graphs=None,
            parts=None,
            forms=(
                Form("mantra/2_manifolds.json.gz", read_mantra),
                Form("mantra/2_manifolds.json", read_mantra),
            ),
            remote=(
                RemoteFile(
                    "mantra/2_manifolds.json.gz",
                    "https://github.com/aidos-lab/mantra/releases/latest/download/"
                    "2_manifolds.json.gz",
                ),
            ),
            remarks="Its own triangles are the 2-cells (data.lifting auto). The address is that of "
            "the latest release, so the number of triangulations may grow.",
        ),
    )
}
"""By name."""


def named_set(name: str) -> NamedSet:
    """The set of that name; raises ValueError with the nearest one."""
    if name in ("nci", *SURFACE_SETS, *FIELD_SETS):
        raise ValueError(f"{name} needs no fetching; open it: cellformer train {name}")
    if name not in NAMED_SETS:
        raise ValueError(
            f"there is no set {name!r} to fetch{did_you_mean(name, NAMED_SETS) or '.'} Choose from "
            f"{', '.join(NAMED_SETS)}"
        )
    return NAMED_SETS[name]
