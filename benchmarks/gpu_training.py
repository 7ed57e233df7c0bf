"""As many ZINC epochs of the paper's preset as the time allows; keeps curve and best weights."""

import json
import shutil
import tarfile
import time
from dataclasses import asdict, replace
from typing import Any

import torch

from benchmarks.gpu_common import Part
from cellformer.experiments.presets import PRESETS
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.train import train

SPARE = 25.0  # seconds for starting, the last validation and saving


def seconds_per_epoch(part: Part) -> float:
    """As measured before in TF32, and some more for validation and checkpoints."""
    path = part.out / "epochs.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"] if path.exists() else []
    for row in rows:
        if row["case"] == "epoch" and row.get("precision") == "TF32" and "seconds" in row:
            return 1.4 * float(max(row["seconds"]))
    return 20.0


def main() -> None:
    """Trains, with the schedule laid out for the epochs that fit."""
    part = Part.from_command_line("training.json")
    each = seconds_per_epoch(part)
    epochs = 2 if part.small else max(1, int((part.left - SPARE) / each))
    preset = PRESETS["zinc"]
    config = replace(
        preset,
        data=replace(preset.data, source="zinc"),
        training=replace(
            preset.training,
            epochs=epochs,
            device="cpu" if part.device.type == "cpu" else "gpu",
            deterministic=False,
        ),
    )
    if part.small:
        config = replace(
            config,
            model=replace(config.model, layers=1, width=16),
            training=replace(config.training, max_steps=2),
        )
    torch.set_float32_matmul_precision("high")
    print(f"{epochs} epochs of about {each:.1f} s fit into {part.left:.0f} s")
    run = part.scratch / "run"
    start = time.perf_counter()
    try:
        summary = train(config, run)
        print(json.dumps(asdict(summary), indent=2))
    except TrainingInterrupted as interrupted:
        print(interrupted)
    finally:
        print(f"trained for {time.perf_counter() - start:.1f} s")
        for name in ("curve.csv", "best.safetensors"):
            if (run / name).exists():
                shutil.copy(run / name, part.out / name)
        with tarfile.open(part.out / "run.tar.gz", "w:gz") as archive:
            for path in sorted(run.glob("*.json")):
                archive.add(path, arcname=f"run/{path.name}")


if __name__ == "__main__":
    main()
