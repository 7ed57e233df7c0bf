"""What the page shows of what a run takes for alike: a map, neighbors, and drawings of rows."""

from dataclasses import asdict
from typing import Any

import numpy as np

from cellformer.data.dataset import PARTS
from cellformer.drawing.theme import Theme
from cellformer.drawing.tokens import cell_centers, flat_positions
from cellformer.explorer.alike import Compared, compare_cells, vector_of
from cellformer.explorer.coloring import check_target, coloring, said, ways
from cellformer.explorer.inspection import Explorer, Subject

DIGITS = 5  # of a place on a map, which is a few hundred pixels wide


def map_of(
    explorer: Explorer, subject: Subject | None, target: int, theme: Theme
) -> dict[str, Any]:
    """Places of all points with their colors by each of `By`, and what is said of each.

    The points are rows of the run's data; of a run that predicts cells they are cells of the
    ``subject``, each with its place in the complex and its nearest others. Raises ValueError for a
    target that does not exist.
    """
    task = explorer.run.recipe.task
    if task.rank is None:
        things, more = explorer.compared, {"note": _of_rows(explorer)}
    elif subject is None:
        raise ValueError("say which complex to show the cells of")
    else:
        things = compare_cells(explorer.run, subject.cells, subject.truth)
        if not len(things.numbers):
            raise ValueError(f"this complex has no {subject.word(task.rank)} to compare")
        more = _of_cells(things, subject, task.rank)
    shades = {by: asdict(coloring(task, things, by, target, theme)) for by in ways(things)}
    predictions, truths = said(task, things, target)
    return {
        "points": _rounded(things.places),
        "numbers": things.numbers.tolist(),
        "parts": list(things.parts),
        "predictions": predictions,
        "truths": truths,
        "shades": shades,
        **more,
    }


def neighbors_of(
    explorer: Explorer, subject: Subject, row: int | None, target: int
) -> dict[str, Any]:
    """The rows nearest to a complex, and its own place on the map.

    Raises ValueError for a run that predicts cells, and for a target that does not exist.
    """
    task = explorer.run.recipe.task
    if task.rank is not None:
        raise ValueError("this run predicts cells, so that no vector stands for a whole complex")
    check_target(task, target)
    things = explorer.compared
    own = things.place_of(row)
    vector = vector_of(explorer.run, subject.cells) if own is None else things.vectors[own]
    predictions, truths = said(task, things, target)
    near = [(one, int(things.numbers[one]), far) for one, far in things.nearest(vector, row)]
    return {
        "place": _rounded(things.plane.places(vector[None]))[0],
        "part": "" if own is None else things.parts[own],
        "neighbors": [
            {
                "row": other,
                "name": explorer.subject_name(other),
                "distance": f"{distance:.3g}",
                "part": things.parts[one],
                "prediction": predictions[one],
                "truth": truths[one],
            }
            for one, other, distance in near
        ],
    }


def drawing_of(explorer: Explorer, row: int) -> dict[str, Any]:
    """The name of a row's complex and a sketch of it, empty if it is too large for one.

    Raises ValueError where there is no such row.
    """
    name = explorer.subject_name(row)
    assert explorer.outcome is not None  # or there had been no name
    return {"name": name, "svg": explorer.outcome.drawing(row, name)}


def _of_rows(explorer: Explorer) -> str:
    things = explorer.compared
    counts = ", ".join(
        f"{things.parts.count(part):,} {part}" for part in PARTS if part in things.parts
    )
    told = [f"{len(things.numbers):,} of {things.total:,} labeled rows of the run's data: {counts}"]
    if len(things.numbers) < things.total:
        told[0] += "; half of them held out, as far as there are such, and always the same"
    told.append(_spread(things))
    preparation = explorer.run.preparation
    if preparation.molecule_descriptors != "none" or preparation.columns:
        told.append("descriptors of whole molecules, which this run reads too, are not in it")
    return " ".join(map(_sentence, told))


def _spread(things: Compared) -> str:
    return (
        "the map is the plane in which the model's vectors spread most, with "
        f"{things.plane.share:.0%} of their variance"
    )


def _of_cells(things: Compared, subject: Subject, rank: int) -> dict[str, Any]:
    word = subject.word(rank)
    flat = flat_positions(subject.cells, subject.positions)
    count = f"{len(things.numbers):,} of {things.total:,} {word}"
    spread = _spread(things)
    return {
        "note": f"This run predicts {word}, so that no vector stands for a whole complex, and the "
        f"map is of the {word} of the one on show: {count}. {_sentence(spread)}",
        "word": subject.word(rank, 1),
        "centers": _rounded(cell_centers(subject.cells, flat)[rank][things.numbers]),
        "nearest": things.nearest_of_each(),
    }


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _rounded(places: np.ndarray) -> list[list[float]]:
    return [[float(f"{value:.{DIGITS}g}") for value in place] for place in places.tolist()]
