"""The preparation that a configuration describes, and what of it a source has no use for."""

import os
from typing import Any

from cellformer.complexes.patches import Patches
from cellformer.data.dataset import GraphSet, MoleculeDescriptors, SmilesList
from cellformer.data.preparation import Preparation
from cellformer.data.readers.catalog import READERS
from cellformer.data.readers.point_folder import PointClouds
from cellformer.data.sources import molecule_scheme
from cellformer.data.tables.table import is_table
from cellformer.encodings.named import parse_encodings
from cellformer.lifting.catalog import LIFTINGS
from cellformer.lifting.point_cloud import PointNeighbors
from cellformer.training.config import ENCODING_SIZE, PreparationConfig


def preparation_of(config: PreparationConfig, source: str | os.PathLike[str]) -> Preparation:
    """What the fields describe, for a source whose kind decides what auto stands for.

    Raises ValueError for parts that cannot be made, PartRefusedError for code of others that was
    not named.
    """
    name = os.fspath(source)
    return Preparation(
        lifting=LIFTINGS.make(
            config.lifting,
            max_length=config.max_length,
            max_dim=config.max_dim,
            over_limit="truncate" if config.over_limit == "truncate" else None,
        ),
        encodings=parse_encodings(config.encodings, config.encoding_size or ENCODING_SIZE),
        ring_features=config.ring_features,
        hodge_parts=config.hodge_parts,
        features=molecule_scheme(name) if config.features == "auto" else config.features,
        fragments=config.fragments,
        molecule_descriptors=_descriptors(config, name),
        columns=config.descriptors,
        smiles_column=config.smiles_column,
        separator=config.separator,
        charset=config.charset,
        censored=config.censored,
        neighbors=_neighbors(config),
        degenerate=config.degenerate,
        over_limit="skip" if config.over_limit == "skip" else "fail",
        reader=None if config.reader is None else READERS.make(config.reader),
        patches=_patches(config),
    )


def open_with(
    config: PreparationConfig, source: str | os.PathLike[str]
) -> tuple[Preparation, GraphSet]:
    """The preparation that a configuration describes, and the rows of a source, to look at.

    Raises ValueError for a field that the source has no use for.
    """
    if config.over_limit == "skip":
        raise ValueError(
            "data.over_limit=skip is of no use here, where a graph over the limits is told anyway"
        )
    if config.patch_cells is not None:
        raise ValueError(
            "data.patch_cells is of no use here, where complexes are looked at as wholes"
        )
    preparation = preparation_of(config, source)
    opened = preparation.open(source)
    check_use(config, opened)
    return preparation, opened


def check_use(config: PreparationConfig, opened: GraphSet) -> None:
    """Raises ValueError for a field that was given and that the source has no use for."""
    clouds = isinstance(opened.graphs, PointClouds)
    task = opened.task_or_none
    numbers = opened.columns is not None or (task is not None and task.kind == "regression")
    useless: dict[str, bool] = {
        "censored": config.censored != "refuse" and not numbers,
        "features": config.features != "auto" and not isinstance(opened.graphs, SmilesList),
        "hodge_parts": config.hodge_parts and not _has_fields(opened),
        "neighbors": config.neighbors is not None and not clouds,
        "radius": config.radius is not None and not clouds,
        "patch_cells": config.patch_cells is not None and isinstance(opened.graphs, SmilesList),
        "max_dim": config.max_dim is not None
        and not (clouds or LIFTINGS.takes(config.lifting, "max_dim")),
    }
    of = {
        "censored": "columns of numbers to learn, or of descriptors",
        "features": "molecules given as SMILES",
        "hodge_parts": "cells with features that flip",
        "max_dim": "point clouds and cliques",
        "patch_cells": "graphs and complexes other than molecules",
    }
    if clouds and config.max_dim is not None and config.max_dim < 2:
        raise ValueError("data.max_dim must be at least 2 for point clouds, which have triangles")
    for name, is_useless in useless.items():
        if is_useless:
            raise ValueError(
                f"data.{name} is of use to {of.get(name, 'point clouds')} only; leave it out for "
                f"{opened.name}"
            )


def _has_fields(opened: GraphSet) -> bool:
    """Whether the first row that is one has features that flip."""
    row = next((row for row in range(len(opened)) if row not in opened.faults), None)
    if row is None or isinstance(opened.graphs, SmilesList):
        return False
    graph = opened.graph(row)
    of_graph = graph.vertex_features, graph.edge_features
    features = of_graph if graph.cells is None else graph.cells.features
    return any(own.signed.shape[1] for own in features)


def _patches(config: PreparationConfig) -> Patches | None:
    if config.patch_cells is None:
        return None
    if config.patch_halo is None:
        raise ValueError(
            "data.patch_cells needs data.patch_halo here, where no model says how far cells see; "
            "a training tells it in its log"
        )
    return Patches(config.patch_cells, config.patch_halo)


def _descriptors(config: PreparationConfig, source: str) -> MoleculeDescriptors:
    if config.molecule_descriptors == "auto":
        return "fingerprints" if is_table(source) and config.reader is None else "none"
    return config.molecule_descriptors


def _neighbors(config: PreparationConfig) -> PointNeighbors:
    """Rank 2 is made in any case, for the features of points."""
    given: dict[str, Any] = {"radius": config.radius}
    if config.neighbors is not None:
        given["neighbors"] = config.neighbors
    return PointNeighbors(**given, max_dim=max(config.max_dim or 2, 2))
