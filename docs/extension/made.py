"""A line ``% made: NAME`` of a page becomes what a function makes: tables and references.

What is made is read off the code and the files of results when the site is built, so that it
cannot go stale.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import commands
import configuration
import floors
import licenses
import measurements
import parts
import reference
import runs
from sphinx.application import Sphinx

PAGES = Path(__file__).parents[1]


def optional(page: str) -> str:
    """The name of a page, where there is such a page."""
    return page if (PAGES / f"{page}.md").exists() else ""


MAKERS: dict[str, Callable[..., str]] = {
    "commands": commands.commands,
    "fields": configuration.fields,
    "presets": configuration.presets,
    "package": reference.package,
    "parts": parts.parts,
    "timings": measurements.timings,
    "memory": measurements.memory,
    "patches": measurements.patches,
    "large": measurements.large,
    "against": measurements.against,
    "machine": measurements.machine,
    "floors": floors.table,
    "licenses": licenses.licenses,
    "optional": optional,
    "runs": runs.runs,
}
LINE = re.compile(r"^% made: (\w+)(.*)$", re.MULTILINE)


def _make(found: re.Match[str]) -> str:
    name, words = found.groups()
    return MAKERS[name](*shlex.split(words))


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replaces the lines of one page."""
    source[0] = LINE.sub(_make, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
