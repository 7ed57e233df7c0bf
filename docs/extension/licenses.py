"""The licenses of all that an installation brings along, read off the installed packages."""

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
DEVELOPMENT = ("dev", "docs")
"""Extras whose packages nobody needs who uses this one."""


def licenses() -> str:
    """A line for each package: name, version, license, and what needs it."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = {"": project["dependencies"]} | {
        extra: needed
        for extra, needed in project["optional-dependencies"].items()
        if extra not in DEVELOPMENT
    }
    found: dict[str, tuple[metadata.Distribution, str]] = {}
    for extra, needed in wanted.items():
        for distribution in _needed([Requirement(each) for each in needed], set()):
            name = distribution.metadata["Name"]
            found.setdefault(_key(name), (distribution, f"extra `{extra}`" if extra else "always"))
    rows = ["| package | version | license | needed |", "|---|---|---|---|"]
    for _, (distribution, why) in sorted(found.items()):
        name, version = distribution.metadata["Name"], distribution.version
        rows.append(f"| {name} | {version} | {license_of(distribution.metadata)} | {why} |")
    return "\n".join(rows)


def license_of(told: metadata.PackageMetadata) -> str:
    """What a package says of its license, in a few words."""
    if expression := told.get("License-Expression"):
        return expression
    classified = [
        classifier.rpartition(" :: ")[2]
        for classifier in told.get_all("Classifier") or ()
        if classifier.startswith("License :: ") and not classifier.endswith(":: OSI Approved")
    ]
    if classified:
        return ", ".join(classified)
    first = (told.get("License") or "").strip().partition("\n")[0]
    return first.replace("|", "/")[:60] or "see its own files"


def _needed(
    requirements: list[Requirement], known: set[tuple[str, str]]
) -> Iterator[metadata.Distribution]:
    """The installed packages that these need, and those that these need in turn."""
    for each in requirements:
        for extra in ("", *sorted(each.extras)):
            place = (_key(each.name), extra)
            if place in known:
                continue
            known.add(place)
            try:
                distribution = metadata.distribution(each.name)
            except metadata.PackageNotFoundError:
                continue  # of another system, or of an extra that is not installed
            yield distribution
            needed = [Requirement(text) for text in distribution.requires or ()]
            environment = {"extra": extra}
            yield from _needed(
                [one for one in needed if one.marker is None or one.marker.evaluate(environment)],
                known,
            )


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
