"""How a row of a source becomes a complex: one value, the same for training and for new rows."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_type_hints

import numpy as np
import pandas as pd

from cellformer.basics.hints import check_type
from cellformer.basics.parts.stored import changed_since, from_json, to_json, versions
from cellformer.basics.parts.trust import PartRefusedError
from cellformer.basics.sealed import read_sealed
from cellformer.basics.urls import local_copy
from cellformer.chemistry.fragments import Fragments
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.patches import Patches
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import (
    GraphSet,
    Kind,
    Metric,
    MoleculeDescriptors,
    SmilesList,
    Task,
)
from cellformer.data.flat import in_memory
from cellformer.data.fragments import keep_fragments
from cellformer.data.interop.pyg_labels import LabelsOf
from cellformer.data.named.benchmark_set import posing
from cellformer.data.preparing.patches import prepare_patches
from cellformer.data.preparing.prepare import OverLimitRows, Prepared, prepare
from cellformer.data.preparing.shards import ShardExecutor
from cellformer.data.quantities import Censored
from cellformer.data.sources import described_as, is_mesh, is_source, no_source, open_source
from cellformer.data.tables.atom_targets import TargetsOf
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import ArrowFrame, Table, is_table, read_table
from cellformer.encodings.encode import Encoding, encode
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.encodings.rwpe import RWPe
from cellformer.lifting.hodge_parts import HodgeParts
from cellformer.lifting.lift import Lifting, lift
from cellformer.lifting.mesh import Degenerate
from cellformer.lifting.own_cells import own_cells_or_cycles
from cellformer.lifting.point_cloud import PointNeighbors
from cellformer.lifting.ring_features import RingFeatures

RowObjects: TypeAlias = Graph | CellComplex | Iterable[str | Graph | CellComplex | None]
Source: TypeAlias = str | PathLike[str] | pd.DataFrame | ArrowFrame | Table | GraphSet | RowObjects
"""What `Preparation.open` opens: the name of a set, the path of a file or folder, a table, a
SMILES, a graph, a complex, or a list, series or array of such."""
Reader: TypeAlias = Callable[[str], GraphSet]
"""A reader of your own: from what names the source to its graphs, with their task and split."""

logger = logging.getLogger(__name__)

FORMAT = 1
LATER = {"censored", "column_units", "degenerate", "hodge_parts", "patches"}
"""Fields that earlier versions did not write."""


@dataclass(frozen=True)
class Preparation:
    """From the rows of any source to encoded complexes.

    A run keeps the one that it was trained with, and makes the complexes of new rows by it.
    """

    lifting: Lifting = field(default_factory=own_cells_or_cycles)
    """From a graph to its complex."""
    encodings: tuple[Encoding, ...] = (RWBSPe(8), RWPe(8))
    """What is told of the place of every cell, side by side."""
    ring_features: bool | Literal["numbers"] = False
    """Whether 2-cells get features, and their counts as numbers, see `RingFeatures`."""
    hodge_parts: bool = False
    """Whether features that flip are followed by their parts, see `HodgeParts`."""
    features: MoleculeScheme = "standard"
    """Those of molecules that are given as SMILES, see `Graph.from_smiles`."""
    fragments: Fragments = "all"
    """Which fragments of a molecule count."""
    molecule_descriptors: MoleculeDescriptors = "none"
    """What is computed of molecules that are given as SMILES, as wholes."""
    columns: tuple[str, ...] = ()
    """Columns of a table that describe its rows."""
    smiles_column: str | None = None
    """The column of a table that holds SMILES; by default found by its name."""
    separator: str | None = None
    """What separates the cells of a text table; by default found out."""
    charset: str | None = None
    """The encoding of a text table; by default found out."""
    censored: Censored = "refuse"
    """What a value such as >5 in a column of numbers of a table is: an error, or its bound, 5."""
    column_units: tuple[str, ...] | None = None
    """The units in which ``columns`` were learned, "" for none; None where nothing was learned."""
    neighbors: PointNeighbors = field(default_factory=PointNeighbors)
    """How the points of a cloud are joined."""
    degenerate: Degenerate = "fail"
    """What happens to faces of a mesh that are none, see `mesh_complex`."""
    over_limit: OverLimitRows = "fail"
    """What happens to a graph over the lifting's limits: an error, or a row without a complex."""
    reader: Reader | None = None
    """Reads sources in place of the readers of this package."""
    patches: Patches | None = None
    """How `stored` cuts complexes whose cells are learned; None leaves them whole."""

    @property
    def whole_lifting(self) -> Lifting:
        """The lifting, with the features of 2-cells and the parts of fields that are wanted."""
        lifting = self.lifting
        if self.ring_features:
            lifting = RingFeatures(lifting, as_numbers=self.ring_features == "numbers")
        return HodgeParts(lifting) if self.hodge_parts else lifting

    def open(
        self,
        source: Source,
        *,
        target: Sequence[str] = (),
        kind: Kind | None = None,
        metric: Metric | None = None,
        task: Task | None = None,
        split_column: str | None = None,
        targets_of: TargetsOf | LabelsOf | None = None,
    ) -> GraphSet:
        """The rows of a source, described as this preparation says; see `open_source`.

        A text that is neither a set nor a path is a SMILES. ``task`` is that of a trained model.
        Raises ValueError where an option is of no use to the source, FileNotFoundError.
        """
        if isinstance(source, GraphSet):
            return keep_fragments(source, self.fragments)
        wanted = tuple(target) or None
        if self.reader is not None and isinstance(source, str | PathLike):
            chosen: dict[str, object] = {
                "target": wanted,
                "kind": kind,
                "split_column": split_column,
            }
            chosen |= {"targets_of": targets_of, **self._of_tables()}
            for option, value in chosen.items():
                if value is not None:
                    raise ValueError(f"{option} is of no use with a reader of your own")
            read = posing(_read(self.reader, fspath(local_copy(source))), metric, task)
            described = described_as(read, self.features, self.molecule_descriptors)
            return keep_fragments(described, self.fragments)
        if isinstance(source, Graph | CellComplex):
            source = (source,)
        if isinstance(source, pd.DataFrame | ArrowFrame):
            source = Table.of_frame(source)
        if not isinstance(source, str | PathLike | Table):
            listed = tuple(source)
            smiles = smiles_in(listed)
            return _in_memory(listed) if smiles is None else self._molecules(smiles, "molecules")
        if isinstance(source, Table):
            table = source
            opened = molecules(
                table, wanted, self.smiles_column, kind, metric, task, split_column,
                self.features, self.columns, self.molecule_descriptors, self.censored,
                self.column_units, targets_of,
            )  # fmt: skip
            return keep_fragments(opened, self.fragments)
        if not is_source(source):
            return self._smiles(fspath(source))
        opened = open_source(
            source,
            target=wanted,
            smiles_column=self.smiles_column,
            kind=kind,
            metric=metric,
            task=task,
            split_column=split_column,
            separator=self.separator,
            charset=self.charset,
            features=self.features,
            neighbors=self.neighbors,
            columns=self.columns,
            descriptors=self.molecule_descriptors,
            censored=self.censored,
            degenerate=self.degenerate,
            column_units=self.column_units,
            targets_of=targets_of,
        )
        return keep_fragments(opened, self.fragments)

    def open_new(
        self, source: Source, task: Task, labeled: bool = False, smiles_column: str | None = None
    ) -> GraphSet:
        """The rows of a source that need not be written as the one learned from, to predict.

        The targets of a table are read if ``labeled``; other sources are read with those that
        they have. Without ``smiles_column`` that of the preparation is taken where the table has
        it.
        """
        table = self.table_of(source)
        if table is None:
            lenient = replace(
                self, smiles_column=smiles_column, separator=None, charset=None, censored="refuse",
                degenerate=self.degenerate if is_mesh(source) else "fail",
            )  # fmt: skip
            known = isinstance(source, str | PathLike) and Path(source).exists()
            return replace(lenient, reader=self.reader if known else None).open(source, task=task)
        own = self.smiles_column if self.smiles_column in table.header else None
        asked = replace(self, smiles_column=smiles_column or own)
        return asked.open(table, task=task if labeled else None)

    def table_of(self, source: Source) -> Table | None:
        """A table, or a data frame as one; a file is written like the one learned from.

        None for any other source, and for the file of a reader of your own.
        """
        if isinstance(source, Table):
            return source
        if isinstance(source, pd.DataFrame | ArrowFrame):
            return Table.of_frame(source)
        if isinstance(source, str | PathLike) and is_table(source) and self.reader is None:
            return read_table(source, self.separator, self.charset)
        return None

    def one(self, source: Source, row: int = 0, encoded: bool = True) -> CellComplex:
        """The complex of a row; raises ValueError, saying why, if it has none.

        A set of graphs is one that `open` gave, here and in `many`; ``encoded=False`` leaves the
        encodings out.
        """
        rows = self._opened(source)
        if not 0 <= row < len(rows):
            raise ValueError(f"{rows.name} has no row {row}")
        return self._made(rows, row, encoded)

    def many(self, source: Source, encoded: bool = True) -> Iterator[CellComplex | ValueError]:
        """The complex of every row, or the reason why it has none, as they are asked for."""
        rows = self._opened(source)
        for row in range(len(rows)):
            try:
                yield self._made(rows, row, encoded)
            except ValueError as error:
                yield error

    def stored(
        self,
        source: GraphSet,
        *,
        workers: int = 0,
        executor: ShardExecutor | None = None,
        cache_dir: str | PathLike[str] | None = None,
        over_limit: OverLimitRows | None = None,
    ) -> Prepared:
        """The complexes of all rows, or their patches, from the cache where they are.

        See `prepare`. ``over_limit`` stands in for that of the preparation.
        """
        made = self.patches
        making = prepare if made is None else partial(prepare_patches, patches=made)
        return making(
            source,
            self.whole_lifting,
            self.encodings,
            cache_dir=cache_dir,
            workers=workers,
            over_limit=over_limit or self.over_limit,
            executor=executor,
        )

    def to_dict(self) -> dict[str, Any]:
        """The preparation as JSON holds it, with the versions of parts of your own.

        Raises ValueError for a part that could not be found again, such as a lambda.
        """
        told = {name: to_json(getattr(self, name)) for name in self.__dataclass_fields__}
        return {"format": FORMAT, **told, "versions": versions(list(told.values()))}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Preparation":
        """The inverse of `to_dict`, also after a way through JSON.

        Raises ValueError for what was not written by it, PartRefusedError where it names code
        that was not named by `allow_parts`.
        """
        if values.get("format") != FORMAT:
            raise ValueError(f"format {values.get('format')}, this version reads {FORMAT}")
        known = set(cls.__dataclass_fields__)
        if off := (set(values) ^ {"format", "versions", *known}) - (LATER - set(values)):
            raise ValueError(f"there is something off about {', '.join(sorted(off))}")
        told = values["versions"]
        if not isinstance(told, dict) or not all(isinstance(each, dict) for each in told.values()):
            raise ValueError(f"versions must be a mapping by module, got {told!r}")
        made, hints = {}, get_type_hints(cls)
        for name in known & set(values):
            try:
                made[name] = from_json(values[name])
            except PartRefusedError:
                raise
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
            check_type(name, made[name], hints[name])
        return cls(**made)

    @classmethod
    def read(cls, path: Path) -> "Preparation":
        """Reads preparation.json; raises ValueError, naming the file, where it is off.

        PartRefusedError where it names code that was not named by `allow_parts`. Warns where that
        code has changed since.
        """
        try:
            values = read_sealed(path)
        except OSError as error:
            raise ValueError(f"{path}: cannot be read as a preparation ({error})") from error
        if not isinstance(values, dict):
            raise ValueError(f"{path}: cannot be read as a preparation (it is no mapping)")
        try:
            made = cls.from_dict(values)
            changed = changed_since(values["versions"])
        except PartRefusedError as error:
            raise PartRefusedError(f"{path}: {error}") from error
        except (AttributeError, TypeError, ValueError) as error:
            cure = "restore it from a copy, or read it with the version that wrote it"
            raise ValueError(f"{path}: {error}; {cure}") from error
        for module in changed:
            logger.warning(
                "%s has changed since %s was written; predictions may be others now", module, path
            )
        return made

    def _opened(self, source: Source) -> GraphSet:
        """What is open is not opened again, which would look at all of its rows."""
        return source if isinstance(source, GraphSet) else self.open(source)

    def _made(self, rows: GraphSet, row: int, encoded: bool) -> CellComplex:
        """Features of the whole row are joined last."""
        if row in rows.faults:
            raise ValueError(rows.faults[row])
        cells = rows.described(row, lift(rows.graph(row), self.whole_lifting))
        return encode(cells, self.encodings) if encoded else cells

    def _smiles(self, text: str) -> GraphSet:
        """A text that is no other source; raises ValueError if it is no molecule either."""
        for option, value in self._of_tables().items():
            if value is not None and option != "descriptors":
                raise ValueError(f"{option} is of use to a table only, and {text!r} is none")
        rows = self._molecules((text,), text)
        try:
            rows.graph(0)
        except ValueError as reason:
            raise no_source(text, str(reason)) from None
        return rows

    def _molecules(self, smiles: tuple[str, ...], name: str) -> GraphSet:
        if self.columns:
            raise ValueError(
                f"a SMILES alone lacks {', '.join(self.columns)}, columns that describe these "
                "molecules; give a row of a table"
            )
        graphs = SmilesList(smiles, self.features, self.molecule_descriptors)
        none = np.zeros((len(smiles), 0), np.float32)
        return keep_fragments(
            GraphSet(name, graphs, none, None, None, graphs.digest()), self.fragments
        )

    def _of_tables(self) -> dict[str, object]:
        """What only tables have a use for."""
        return {
            "smiles_column": self.smiles_column,
            "separator": self.separator,
            "charset": self.charset,
            "censored": None if self.censored == "refuse" else self.censored,
            "degenerate": None if self.degenerate == "fail" else self.degenerate,
            "descriptors": self.columns or None,
        }


def rows_in(source: Source) -> tuple[Any, ...] | None:
    """What a list, series, array or iterator holds; None for any other source."""
    if isinstance(source, str | PathLike | pd.DataFrame | ArrowFrame | Table):
        return None
    return None if isinstance(source, GraphSet | Graph | CellComplex) else tuple(source)


def smiles_in(given: Iterable[object]) -> tuple[str, ...] | None:
    """The SMILES of a list, a missing one as an empty text; None where it holds anything else."""
    found = []
    for one in given:
        if isinstance(one, str):
            found.append(str(one))  # those of numpy are texts of their own kind
        elif one is None or one is pd.NA or (isinstance(one, float) and math.isnan(one)):
            found.append("")
        else:
            return None
    return tuple(found)


def _in_memory(given: Sequence[object]) -> GraphSet:
    """A set of graphs or complexes that are given as such; raises ValueError for others."""
    graphs = [one for one in given if isinstance(one, Graph)]
    complexes = [one for one in given if isinstance(one, CellComplex)]
    own = [graph.cells for graph in graphs if graph.cells is not None]
    names = [graph.name for graph in graphs] + [cells.name for cells in complexes]
    name = names[0] if len(names) == 1 else ""
    for cells in (complexes, own):
        if len(cells) == len(given):
            return complex_set(cells, name=name or "complexes")
    if len(graphs) == len(given):
        return in_memory(graphs, name=name or "graphs")
    kinds = sorted({type(one).__name__ for one in given})
    raise ValueError(f"a list to open holds SMILES, graphs or complexes, not {' and '.join(kinds)}")


def _read(reader: Reader, source: str) -> GraphSet:
    found = reader(source)
    if not isinstance(found, GraphSet):
        raise ValueError(
            f"the reader of {source} returned {type(found).__name__}; a GraphSet is needed (see "
            "cellformer.in_memory, complex_set and read_npz)"
        )
    return found
