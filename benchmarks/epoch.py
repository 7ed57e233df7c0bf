"""An epoch of ZINC, from the data to the optimizer's step, against GPSConv of PyTorch Geometric.

Whole models of the preset's depth, width, heads and batch size learn the same graphs. An epoch
takes about a minute, so of each model a few batches are timed, taking turns; the seconds of an
epoch are the median batch times the number of batches. Needs ZINC in the folder that
CELLFORMER_DATA names.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINEConv, GPSConv, global_add_pool
from torch_geometric.transforms import AddRandomWalkPE

from benchmarks.timing import Row, medians, parser, report
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.data.interop.pyg_data import to_pyg
from cellformer.data.loading.loader import batches
from cellformer.data.sources import open_source
from cellformer.experiments.presets import PRESETS
from cellformer.model.config import DataShape, ModelConfig
from cellformer.model.device_neighborhoods import resident_for
from cellformer.model.plans.named import attention_plan
from cellformer.model.relations.patterns import patterns
from cellformer.model.transformer import CellularTransformer
from cellformer.training.config import ENCODING_SIZE
from cellformer.training.loop.allocator import keep_freed_memory
from cellformer.training.materials.materials import Materials, gather

PRESET = PRESETS["zinc"]
ATTENTIONS = ("pairwise-mixed", "pairwise-sparse", "general-sparse")


class GPS(nn.Module):
    """PyTorch Geometric's own example for ZINC: each layer has GINE and attention over all atoms.

    Source: ``examples/graph_gps.py`` of PyTorch Geometric; depth, width, heads, encoding and
    attention dropout are those of our preset.
    """

    def __init__(self, node_types: int, edge_types: int):
        super().__init__()
        chosen, encoding = PRESET.model, ENCODING_SIZE
        width = chosen.width
        self.node = nn.Embedding(node_types, width - encoding)
        self.encoding = nn.Linear(encoding, encoding)
        self.encoding_norm = nn.BatchNorm1d(encoding)
        self.edge = nn.Embedding(edge_types, width)
        self.layers = nn.ModuleList(
            GPSConv(
                width,
                GINEConv(
                    nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
                ),
                heads=chosen.heads,
                attn_kwargs={"dropout": chosen.attention_dropout},
            )
            for _ in range(chosen.layers)
        )
        self.readout = nn.Sequential(
            nn.Linear(width, width // 2),
            nn.ReLU(),
            nn.Linear(width // 2, width // 4),
            nn.ReLU(),
            nn.Linear(width // 4, 1),
        )

    def forward(self, batch: Batch) -> Tensor:
        """One row per graph."""
        encoding = self.encoding(self.encoding_norm(batch.random_walk_pe))
        atoms = torch.cat([self.node(batch.x[:, 0]), encoding], dim=1)
        bonds = self.edge(batch.edge_attr[:, 0])
        for layer in self.layers:
            atoms = layer(atoms, batch.edge_index, batch.batch, edge_attr=bonds)
        value: Tensor = self.readout(global_add_pool(atoms, batch.batch))
        return value


def trained(model: nn.Module) -> Callable[[CellBatch | Batch, Tensor], None]:
    """One step of training."""
    chosen = PRESET.optimizer
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=chosen.peak_rate, weight_decay=chosen.weight_decay, fused=True
    )

    def step(batch: CellBatch | Batch, targets: Tensor) -> None:
        loss = (model(batch) - targets).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), chosen.clip_norm, foreach=True)
        optimizer.step()

    return step


def ours(materials: Materials, model: CellularTransformer) -> Callable[[], None]:
    """The next batch from the memory-mapped store, and the step with it."""
    size = PRESET.training.batch_size
    loader = endless(batches(materials.complexes, materials.split["train"], size, shuffle=True))
    step = trained(model)

    def action() -> None:
        batch: CellBatch = next(loader)
        assert batch.targets is not None
        step(batch, batch.targets)

    return action


def gps(materials: Materials) -> tuple[GPS, Callable[[], None]]:
    """The same with PyTorch Geometric's loader, encodings computed beforehand as ours are."""
    source = open_source("zinc")
    encode = AddRandomWalkPE(ENCODING_SIZE)
    graphs: list[Data] = []
    for row in materials.split["train"].tolist():
        data = encode(to_pyg(source.graph(row)))
        data.y = torch.from_numpy(source.targets[row : row + 1])
        graphs.append(data)
    every = Batch.from_data_list(graphs)
    model = GPS(int(every.x.max()) + 1, int(every.edge_attr.max()) + 1)
    loader = endless(DataLoader(graphs, PRESET.training.batch_size, shuffle=True))
    step = trained(model)

    def action() -> None:
        batch = next(loader)
        step(batch, batch.y)

    return model, action


def endless(loader: Iterable[Any]) -> Iterator[Any]:
    """Epoch after epoch."""
    while True:
        yield from loader


def collated(
    materials: Materials, model: CellularTransformer, resident: bool
) -> Callable[[], None]:
    """The next batch and all that attention needs to know of it, without the step."""
    complexes = resident_for(model, materials.complexes) if resident else materials.complexes
    size = PRESET.training.batch_size
    loader = endless(batches(complexes, materials.split["train"], size, shuffle=True))

    def action() -> None:
        batch = next(loader)
        for rank in model.embedding.ranks_from_vertices(batch):
            model.embedding.corners(batch, rank)
        for pattern in patterns(batch, model.plan.relations(batch.dim), binary=False):
            if isinstance(pattern, Neighborhood):
                _ = pattern.components, pattern.transposed  # the kernels read them

    return action


def main() -> None:
    """ZINC at the preset's size; freed memory is kept for all, as `cellformer train` does."""
    keep_freed_memory()
    options = parser(__doc__.splitlines()[0], runs=7).parse_args()
    materials = gather(replace(PRESET.data, source="zinc"))
    config = ModelConfig(PRESET.model, DataShape.of(materials.complexes, 1))
    torch.manual_seed(0)
    models = [CellularTransformer(config, attention_plan(name)) for name in ATTENTIONS]
    count = -(-len(materials.split["train"]) // PRESET.training.batch_size)
    peer, peer_step = gps(materials)
    *ours_s, peer_s = medians(
        [*(ours(materials, model) for model in models), peer_step], options.runs
    )
    rows = [
        Row(f"epoch {name}", "GPSConv (GINE + attention)", count * seconds, count * peer_s,
            peer_s / seconds, options.runs)
        for name, seconds in zip(ATTENTIONS, ours_s, strict=True)
    ]  # fmt: skip
    for name, model, step_s in zip(ATTENTIONS, models, ours_s, strict=True):
        actions = [collated(materials, model, resident) for resident in (False, True)]
        taken = medians(actions, 3 * options.runs)
        rows += [
            Row(f"collate {name}", f"our step, batch {place}", seconds, step_s,
                step_s / seconds, 3 * options.runs)
            for place, seconds in zip(("from the store", "resident"), taken, strict=True)
        ]  # fmt: skip
    report(rows, options.out)
    print(f"An epoch is {count} times the median of {options.runs} batches, taking turns.")
    sizes = [sum(p.numel() for p in each.parameters()) for each in (*models, peer)]
    for who, size in zip((*ATTENTIONS, "GPSConv"), sizes, strict=True):
        print(f"{who}: {size:,} parameters")


if __name__ == "__main__":
    main()
