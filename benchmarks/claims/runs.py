"""The trainings that pages tell of, and what they came to."""

import statistics
from dataclasses import dataclass

from benchmarks.kept import Kept, kept_json

GCB = {
    "gin-batch": "GIN (PyG), batch normalization",
    "gin-graph": "GIN, graph normalization",
    "gin-layer": "GIN, layer normalization",
    "skeleton-open": "vertices and edges, batch normalization in the layers alone",
    "skeleton-batch": "vertices and edges, batch normalization, also before the readout",
    "skeleton": "vertices and edges",
    "general": "with 2-cells",
    "general-degree": "with 2-cells, degree scaling",
    "walks": "with 2-cells, `rwpe`",
}
"""Learners of `benchmarks.gcb`; ours are general-sparse, without encodings unless one is named."""
JUDGED_ON_GCB = ("skeleton-open", "gin-batch")
JUDGED_BEFORE = "skeleton-batch"
DRAWS = "judging", "judging-again"
ZINC = {
    "zinc/pairwise-mixed-rwbspe": "pairwise-mixed, `rwbspe`",
    "zinc/general-sparse-rwbspe": "general-sparse, `rwbspe`",
    "zinc/general-sparse-zeros": "general-sparse, `zeros`",
}
PLAIN = "zinc/pairwise-mixed-rwbspe-plain"
NARROW = "zinc-100/pairwise-mixed-rwbspe-narrow"
WITHOUT_RING_SIZES = (PLAIN, NARROW)
TRIED_ON_ZINC = {
    "zinc-24/general-sparse-rwbspe": "general-sparse, 6 layers of width 64",
    "zinc-24/general-sparse-rwbspe-pairs": "the same with pairs: `model.pair_width 16`, "
    "`model.pair_steps 16`",
    "zinc-24/general-sparse-rwbspe-batch": "the same with batch normalization: `model.norm batch`",
    "zinc-24/pairwise-mixed-rwbspe-narrow": "pairwise-mixed, 6 layers of width 44 with 4 heads, "
    "batch normalization and `model.degree_scaling log`",
}
"""Short trainings without ring features, the first of which the others are compared with."""
OTHERS = ("zinc-60/pairwise-mixed-rwbspe", "zinc-60/pairwise-mixed-zeros",
          "molhiv/general-sparse-rwbspe")  # fmt: skip
METRICS = {"mae": "MAE", "rocauc": "ROC-AUC", "accuracy": "accuracy"}


@dataclass(frozen=True)
class OnGcb:
    """Accuracies of a learner of `benchmarks.gcb`, by seed."""

    scores: list[dict[str, float]]

    @classmethod
    def of(cls, file: str) -> dict[str, "OnGcb"]:
        """All learners of a file."""
        found = kept_json(f"gcb-hard/{file}.json")["scores"]
        return {name: cls([each["accuracy"] for each in scores]) for name, scores in found.items()}

    def told(self, part: str) -> str:
        """The mean, with the deviation where there are several seeds."""
        values = [each[part] for each in self.scores]
        spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
        return f"{statistics.fmean(values):.3f}{spread}"


def share(ring: dict[str, int], what: str) -> str:
    """Of the molecules of `benchmarks.ring_term`."""
    return f"{100 * ring[what] / ring['molecules']:.1f} %"


def kept_runs() -> dict[str, Kept]:
    """Those that results/README.md lists, by name, in its order."""
    gcb = [f"gcb-hard/{name}" for name in (*JUDGED_ON_GCB, JUDGED_BEFORE)]
    return {name: Kept.of(name) for name in ("nci", *ZINC, PLAIN, NARROW, *gcb, *OTHERS)}
