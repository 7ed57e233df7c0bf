"""Pretrained models that come with the package, by name."""

from pathlib import Path

SHIPPED = Path(__file__).parents[2] / "pretrained"


def run_path(path: Path) -> Path:
    """The path itself; where nothing is there, the folder of the model that is named so."""
    own = SHIPPED / path
    named = len(path.parts) == 1 and own.is_dir() and not path.exists()
    return own if named else path


def shipped_names() -> tuple[str, ...]:
    """Of all models that come with the package."""
    return tuple(sorted(folder.name for folder in SHIPPED.iterdir() if folder.is_dir()))
