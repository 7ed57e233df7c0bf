"""Show versions, devices and kernels."""

import os
import platform
from collections.abc import Sequence
from importlib import metadata

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser

PACKAGES = (
    "cellformer",
    "torch",
    "triton",
    "lightning",
    "numpy",
    "scipy",
    "numba",
    "rdkit",
    "networkx",
    "torchmetrics",
    "torch-geometric",
    "toponetx",
    "trimesh",
)


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """``cellformer info`` takes none."""


def run(arguments: Namespace) -> int:
    """Prints one line per fact, for bug reports."""
    import torch

    from cellformer.attention.operator import implementation
    from cellformer.basics.files import cache_root

    for package in PACKAGES:
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            version = "not installed"
        print(f"{package:16} {version}")
    print(f"{'python':16} {platform.python_version()} on {platform.platform()}")
    print(f"{'processors':16} {os.cpu_count()}, torch uses {torch.get_num_threads()}")
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    print(f"{'GPUs':16} {', '.join(devices) or 'none'}")
    device = "cuda" if devices else "cpu"
    print(f"{'attention':16} {implementation(device)} on {device}")
    print(f"{'cache':16} {cache_root()}")
    return 0
