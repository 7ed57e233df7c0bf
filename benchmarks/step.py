"""A training step of the paper's presets against its own matrix products run alone.

A step is forward, loss, backward, clipping and AdamW on one batch; its matrix products are those
that PyTorch runs in it, with the same shapes and strides, one after another. The last column is
the step over its products, so smaller is better. The batch itself is timed on a line of its own,
as a share of the step.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.timing import Row, data_folder, medians, parser, report
from cellformer.complexes.batches.batch import CellBatch
from cellformer.experiments.presets import PRESETS
from cellformer.model.relations.patterns import patterns
from cellformer.training.loop.allocator import keep_freed_memory
from cellformer.training.loop.module import CellularModule
from cellformer.training.materials.materials import Materials, gather
from cellformer.training.runs.recipe import Recipe

CASES = {
    "ZINC pairwise-mixed": ("zinc", "zinc/zinc12k_graphs.npz"),
    "GCB general-sparse": ("gcb-hard", "gcb/hard_regenerated_seed0_flat.npz"),
}


class Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operands of every matrix product, as shapes and strides."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.noted: list[list[tuple[torch.Size, tuple[int, ...]]]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Calls the operation, and notes it if it is a product of two matrices."""
        if func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            self.noted.append([(t.shape, t.stride()) for t in args])
        return func(*args, **(kwargs or {}))

    def alone(self) -> Callable[[], None]:
        """Runs the same products on random numbers."""
        kinds = {str(kind): kind for operands in self.noted for kind in operands}
        made = {key: torch.empty_strided(*kind).normal_() for key, kind in kinds.items()}
        calls = [[made[str(kind)] for kind in operands] for operands in self.noted]

        def run() -> None:
            for operands in calls:
                torch.mm(*operands) if len(operands) == 2 else torch.addmm(*operands)

        return run


def trainer_of(recipe: Recipe, materials: Materials) -> tuple[CellularModule, Any]:
    """The module and its optimizer, at the preset's size."""
    torch.manual_seed(0)
    module = CellularModule(recipe.build(), recipe.task, recipe.scaling)
    return module, module.configure_optimizers()["optimizer"]


def step(module: CellularModule, optimizer: torch.optim.Optimizer, batch: CellBatch) -> None:
    """What Lightning does for one batch, without its hooks."""
    loss = module.training_step(batch, 0)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    module.configure_gradient_clipping(optimizer, 5.0)
    optimizer.step()


def measured(case: str, preset: str, file: str, runs: int, profile: bool) -> list[Row]:
    """One case: the step with its products, with the readable attention, and its batch."""
    config = PRESETS[preset]
    config = dataclasses.replace(
        config, data=dataclasses.replace(config.data, source=str(data_folder() / file))
    )
    materials = gather(config.data)
    recipe = Recipe.for_materials(config, materials)
    module, optimizer = trainer_of(recipe, materials)
    module.log = lambda *_, **__: None  # type: ignore[method-assign]
    chosen = np.random.default_rng(0).permutation(materials.split["train"])[
        : config.training.batch_size
    ]
    binary = config.model.neighbor_weights == "binary"

    def make_batch() -> CellBatch:
        batch = CellBatch.from_ragged(materials.complexes.take(chosen))
        patterns(batch, recipe.plan.relations(batch.dim), binary)
        return batch

    batch = make_batch()
    with Products() as products:
        step(module, optimizer, batch)
    ours = partial(step, module, optimizer, batch)
    if profile:
        with torch.profiler.profile() as profiler:
            ours()
        print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=40))
    step_s, products_s, batch_s = medians([ours, products.alone(), make_batch], runs)
    return [
        Row(case, "its matrix products alone", step_s, products_s, step_s / products_s, runs),
        Row(case, "making the batch, of the step", step_s, batch_s, batch_s / step_s, runs),
    ]


def main() -> None:
    """Both presets, as `cellformer train` runs them: freed memory is kept."""
    keep_freed_memory()
    options = parser(__doc__.splitlines()[0], runs=5)
    options.add_argument("--profile", action="store_true", help="also print where time goes")
    options.add_argument("--case", choices=CASES, help="this one only")
    chosen = options.parse_args()
    rows = [
        row
        for case, (preset, file) in CASES.items()
        if chosen.case in (None, case)
        for row in measured(case, preset, file, chosen.runs, chosen.profile)
    ]
    report(rows, chosen.out)


if __name__ == "__main__":
    main()
