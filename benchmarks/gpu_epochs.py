"""Seconds per ZINC epoch with the paper's preset, memory, reproducibility, and a profile."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu_common import Part, precision
from cellformer.attention.operator import use_attention
from cellformer.complexes.batches.batch import CellBatch
from cellformer.data.loading.loader import batches
from cellformer.experiments.presets import PRESETS
from cellformer.training.config import RunConfig
from cellformer.training.loop.loss import loss_of
from cellformer.training.materials.materials import Materials, gather
from cellformer.training.runs.recipe import Recipe


@dataclass
class Trainer:
    """The preset's model and optimizer, in a loop as bare as can be."""

    part: Part
    materials: Materials
    config: RunConfig
    numbers: str

    def __post_init__(self) -> None:
        precision(self.numbers)
        torch.manual_seed(0)
        self.recipe = Recipe.for_materials(self.config, self.materials)
        self.model = self.recipe.build().to(self.part.device).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-4, weight_decay=0.01)

    def loader(self) -> Any:
        """The training set, shuffled."""
        count = 2 * self.config.training.batch_size if self.part.small else None
        indices = self.materials.split["train"][:count]
        size = self.config.training.batch_size
        return batches(self.materials.complexes, indices, size, shuffle=True)

    def loss(self, batch: CellBatch) -> Tensor:
        """The mean absolute error."""
        half = self.numbers == "bf16"
        kind = self.part.device.type
        with torch.autocast(kind, torch.bfloat16) if half else nullcontext():
            outputs = self.model(batch)
        assert batch.targets is not None
        return loss_of(self.recipe.task, "auto", outputs.float(), batch.targets)

    def step(self, batch: CellBatch) -> Tensor:
        """One step of training."""
        self.optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return loss.detach()

    def epoch(self, ready: Sequence[CellBatch] | None = None) -> float:
        """The mean loss of an epoch, of the loader's batches or of those that are there."""
        losses = [self.step(batch.to(self.part.device)) for batch in ready or self.loader()]
        return float(torch.stack(losses).mean())


def timed(trainer: Trainer, ready: bool, epochs: int) -> dict[str, Any]:
    """Seconds of each epoch after one that compiles, and the most memory held."""
    part = trainer.part
    there = [batch.to(part.device) for batch in trainer.loader()] if ready else None
    losses = [trainer.epoch(there)]
    seconds = []

    def run() -> None:
        for _ in range(epochs):
            part.wait()
            start = time.perf_counter()
            losses.append(trainer.epoch(there))
            part.wait()
            seconds.append(time.perf_counter() - start)

    peak = part.peak_mib(run)
    return {"seconds": seconds, "steps": len(trainer.loader()), "losses": losses, "peak_mib": peak}


def assembling(trainer: Trainer) -> dict[str, Any]:
    """What an epoch takes to assemble its batches and to send them."""
    start = time.perf_counter()
    for batch in trainer.loader():
        batch.to(trainer.part.device)
    trainer.part.wait()
    return {"seconds": [time.perf_counter() - start]}


def twice(make: Callable[[], Trainer]) -> dict[str, Any]:
    """Whether the same seed gives the same bits, PyTorch refusing what is not reproducible."""
    torch.use_deterministic_algorithms(True)
    try:
        weights = []
        for _ in range(2):
            trainer = make()
            for batch, _ in zip(trainer.loader(), range(3), strict=False):
                trainer.step(batch.to(trainer.part.device))
            weights.append([weight.detach().clone() for weight in trainer.model.parameters()])
    finally:
        torch.use_deterministic_algorithms(False)
    pairs = zip(*weights, strict=True)
    return {"same_bits_twice": all(torch.equal(one, other) for one, other in pairs)}


def against_cpu(make: Callable[[], Trainer]) -> dict[str, Any]:
    """The loss of one batch without dropout, on the device and on the CPU."""
    trainer = make()
    trainer.model.eval()
    batch = next(iter(trainer.loader()))
    with torch.no_grad():
        there = trainer.loss(batch.to(trainer.part.device))
        with use_attention("reference"):
            plain = trainer.loss(batch.to(trainer.part.device))
        trainer.model.cpu()
        here = trainer.loss(batch)
    return {"device": float(there), "device_reference": float(plain), "cpu": float(here)}


def profile(trainer: Trainer) -> dict[str, Any]:
    """The operations of five steps by the time they take, in profile.txt."""
    from torch.profiler import ProfilerActivity

    part = trainer.part
    ready = [batch.to(part.device) for batch, _ in zip(trainer.loader(), range(5), strict=False)]
    trainer.epoch(ready)
    activities = [ProfilerActivity.CPU]
    if part.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        trainer.epoch(ready)
        part.wait()
    order = "self_cuda_time_total" if part.device.type == "cuda" else "self_cpu_time_total"
    averages = profiler.key_averages()
    table = averages.table(sort_by=order, row_limit=40, max_name_column_width=60)
    by_host = averages.table(sort_by="self_cpu_time_total", row_limit=25, max_name_column_width=60)
    (part.out / "profile.txt").write_text(f"{trainer.numbers}\n{table}\n\n{by_host}\n")
    return {"file": "profile.txt", "steps": len(ready)}


def main() -> None:
    """The preset in float32, TF32 and bf16."""
    part = Part.from_command_line("epochs.json")
    preset = PRESETS["zinc"]
    config = replace(
        preset, data=replace(preset.data, source="zinc", workers=0 if part.small else 8)
    )
    if part.small:
        config = replace(
            config,
            model=replace(config.model, layers=2),
            training=replace(config.training, batch_size=8),
        )
    start = time.perf_counter()
    materials = gather(config.data)
    print(f"{materials.name} prepared in {time.perf_counter() - start:.1f} s")

    def make(numbers: str = "float32") -> Trainer:
        return Trainer(part, materials, config, numbers)

    def timed_anew(numbers: str, ready: bool) -> dict[str, Any]:
        return timed(make(numbers), ready, epochs=1 if part.small else 3)

    part.case(lambda: against_cpu(make), case="loss of one batch")
    for numbers in ("float32", "TF32", "bf16"):
        for ready in (False, True):
            case = "epoch, batches ready on the device" if ready else "epoch"
            part.case(partial(timed_anew, numbers, ready), case=case, precision=numbers)
    part.case(lambda: assembling(make()), case="assembling the batches of an epoch")
    part.case(lambda: twice(make), case="strictly deterministic")
    part.case(lambda: profile(make("TF32")), case="profile")

    def reference() -> dict[str, Any]:
        with use_attention("reference"):
            return timed(make(), False, 1)

    part.case(reference, case="epoch, attention in plain PyTorch", precision="float32")


if __name__ == "__main__":
    main()
