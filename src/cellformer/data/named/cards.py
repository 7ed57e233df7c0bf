"""What is known of each named set, as a page of the documentation."""

from cellformer.data.named.benchmark_set import NamedSet, RemoteFile
from cellformer.data.named.catalogue import NAMED_SETS

HEAD = """# Data sets by name

`cellformer train NAME` opens a set from the folder that `CELLFORMER_DATA` names or from the cache;
it never downloads and never asks. `cellformer fetch NAME` downloads it beforehand, goes on where an
interrupted download stopped, and checks what arrived. `nci` needs neither: RDKit brings its
molecules.

This page is written by `cellformer fetch --card`.

"""


def card(named: NamedSet) -> str:
    """One set, in Markdown."""
    parts = {
        "Source": f"<{named.homepage}>",
        "Files": "; ".join(map(_file, named.remote)),
        "License": named.license,
        "Cite": named.citation,
        "Graphs": "not fixed" if named.graphs is None else f"{named.graphs:,}",
        "Split": named.split,
        "Metric": named.metric,
        "Looked for as": ", ".join(f"`{form.path}`" for form in named.forms),
    }
    rows = "".join(f"| {key} | {value} |\n" for key, value in parts.items())
    remarks = f"\n{named.remarks}\n" if named.remarks else ""
    return f"## {named.name}\n\n{named.title}\n\n| | |\n|---|---|\n{rows}{remarks}\n"


def page() -> str:
    """All sets."""
    return HEAD + "".join(map(card, NAMED_SETS.values())).rstrip("\n") + "\n"


def _file(remote: RemoteFile) -> str:
    size = "" if remote.size is None else f" ({remote.size:,} bytes)"
    known = (
        "SHA-256 not published, recorded when first fetched"
        if remote.sha256 is None
        else f"SHA-256 `{remote.sha256}`"
    )
    return f"<{remote.url}>{size}, {known}"
