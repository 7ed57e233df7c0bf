"""What is known of each named set, as a page of the documentation."""

from cellformer.data.named.benchmark_set import NamedSet, RemoteFile
from cellformer.data.named.catalogue import NAMED_SETS
from cellformer.data.named.drawn_fields import CLASSES
from cellformer.data.named.fields import FIELD_SETS
from cellformer.data.named.surfaces import SURFACE_SETS

HEAD = """# Data sets by name

`cellformer train NAME` opens a set from the folder that `CELLFORMER_DATA` names or from the cache;
it never downloads and never asks. `cellformer fetch NAME` downloads it beforehand, goes on where an
interrupted download stopped, and checks what arrived. `nci` needs neither: RDKit brings its
molecules.

This page is written by `cellformer fetch --card`.

## Manifolds that make themselves

`surfaces`, `surfaces-10x` and `3-manifolds` are triangulated when they are first opened, the same
on every machine, and kept in the cache. Each starts from a triangulation of few vertices (connected
sums of tori or projective planes, products with a circle), gets vertices and is changed by random
bistellar moves, so that neither numbers of neighbors nor the numbers of cells tell what it is: but
for the sphere, every Euler characteristic of a surface that can be oriented has one that cannot.
Each was checked to be a closed manifold. Vertices have neither features nor places.

```bash
cellformer train surfaces --target orientable --training.epochs 1 -o runs/surfaces
```

Targets, all of them classes: `orientable` (unless another is given), `name`, `genus` (of surfaces),
`betti_1`, `betti_2` and `betti_1_mod_2`, computed exactly ({py:obj}`~cellformer.betti_numbers`).

"""
FIELDS = f"""## Fields on cells that make themselves

`flows` and `trajectories` are drawn when they are first opened, the same on every machine, and kept
in the cache. Each item is a random triangulation of a rectangle with round holes, about 130
vertices, 330 edges and 200 triangles; the part of the split is random. Vertices and triangles have
no features, places are for pictures alone.

`flows`: a flow along the edges is to be completed. It is the sum of a smooth potential's
gradient, a smooth stream function's curl and a harmonic flow around the 1 to 3 holes, in shares
that differ from item to item; its root mean square is 1. Measured are 15 to 40 % of the edges,
with an error of 5 %: what is measured is a feature that flips with the orientation, and whether
it was is a category. The target, which flips too, is the flow of all other edges; edges that
are measured are not scored.

`trajectories`: a closed path is to be told by the holes that it goes around: {", ".join(CLASSES)}
(that is, in the same sense or in opposite ones). It makes two rounds, each around a hole or around
open water. The feature that flips is how often the path goes along an edge, and a category says
whether it meets the edge at all. Alike and unlike are walked along the same edges, so the edges
visited do not tell them apart.

```console
$ cellformer draw flows --what flow -o flow.svg
```

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


def manifolds() -> str:
    """The sets of triangulations, as a table."""
    rows = "".join(
        f"| `{name}` | {known.each * len(known.manifolds)} | {known.vertices[0]} to "
        f"{known.vertices[1]}{_times(known.test_times)} | {', '.join(known.manifolds)} |\n"
        for name, known in SURFACE_SETS.items()
    )
    return f"| set | items | vertices | equally many of each |\n|---|---|---|---|\n{rows}\n"


def fields() -> str:
    """The sets of fields, as a table."""
    rows = "".join(
        f"| `{name}` | {known.items:,} | {known.task.kind} of {known.task.targets[0]}, "
        f"{known.task.metric} |\n"
        for name, known in FIELD_SETS.items()
    )
    return f"| set | items | task |\n|---|---|---|\n{rows}\n"


def _times(test_times: int) -> str:
    return "" if test_times == 1 else f", in the test part {test_times} times as many"


def page() -> str:
    """All sets."""
    return (
        HEAD
        + manifolds()
        + FIELDS
        + fields()
        + "".join(map(card, NAMED_SETS.values())).rstrip("\n")
        + "\n"
    )


def _file(remote: RemoteFile) -> str:
    size = "" if remote.size is None else f" ({remote.size:,} bytes)"
    known = (
        "SHA-256 not published, recorded when first fetched"
        if remote.sha256 is None
        else f"SHA-256 `{remote.sha256}`"
    )
    return f"<{remote.url}>{size}, {known}"
