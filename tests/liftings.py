"""Liftings of one's own, which other processes can import too."""

from dataclasses import dataclass
from pathlib import Path

from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import Lifted


@dataclass(frozen=True)
class OneAtATime:
    """A lifting without its collective form."""

    lifting: InducedCycles

    def __call__(self, graph):
        return self.lifting(graph)


@dataclass(frozen=True)
class Watched:
    """A collective lifting that writes down how it is called."""

    lifting: InducedCycles
    folder: str

    def __call__(self, graph):
        self._note("one")
        return self.lifting(graph)

    def many(self, graphs):
        self._note(f"many {len(graphs)}")
        return self.lifting.many(graphs)

    def _note(self, line):
        with Path(self.folder, "calls").open("a") as stream:
            stream.write(f"{line}\n")

    def calls(self):
        return Path(self.folder, "calls").read_text().splitlines()


@dataclass(frozen=True)
class Broken:
    """A collective lifting that fails on many graphs where one has that many vertices."""

    lifting: InducedCycles
    vertices: int = 5
    loses: int = 0  # so many complexes, instead of an error

    def __call__(self, graph):
        return self.lifting(graph)

    def many(self, graphs):
        lifted = self.lifting.many(graphs)
        if (graphs.vertex_offsets[1:] - graphs.vertex_offsets[:-1] == self.vertices).any():
            if not self.loses:
                raise IndexError(f"{self.vertices} are too many\nfor me")
            kept = range(len(lifted.complexes) - self.loses)
            return Lifted(lifted.complexes.take(list(kept)), {})
        return lifted
