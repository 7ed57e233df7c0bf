"""A finished run, ready to predict."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int64

from cellformer.basics.archives import one_line
from cellformer.basics.parts.trust import PartRefusedError
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import GraphSet
from cellformer.data.preparation import Preparation
from cellformer.data.preparing.prepare import Prepared
from cellformer.model.described import CellModel
from cellformer.training.answers.predictor import Predictor, outputs_of
from cellformer.training.config import RunConfig
from cellformer.training.runs.preparation import preparation_in
from cellformer.training.runs.recipe import Recipe
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import load_weights


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A model with the weights of a run, and how its data were made."""

    folder: RunFolder
    config: RunConfig
    preparation: Preparation
    recipe: Recipe
    predictor: Predictor
    cache_dir: Path | None = None  # of what is prepared to be answered; None: the usual cache

    @classmethod
    def open(cls, path: Path, weights: str = "best") -> "TrainedRun":
        """Reads a run folder, or by its name a model that comes with the package; ``weights`` are
        those of the "best" or of the "last" epoch.

        Raises FileNotFoundError if the folder lacks a file, ValueError if one is damaged.
        """
        folder = RunFolder.named(path)
        config = RunConfig.from_json(folder.require(folder.config))
        recipe = Recipe.read(folder)
        predictor = Predictor(_built(recipe, folder), recipe.task, recipe.scaling)
        load_weights(folder.require(folder.weights(weights)), predictor.model)
        return cls(folder, config, preparation_in(folder, config), recipe, predictor)

    @property
    def model(self) -> CellModel:
        """The model with these weights."""
        assert isinstance(self.predictor.model, CellModel)
        return self.predictor.model

    def prepare(self, rows: GraphSet) -> Prepared:
        """The complexes of some rows, made as those of this run.

        Rows over a limit of the lifting count as failures, as invalid ones do. Raises
        NoComplexError if there are only failures.
        """
        return self.preparation.stored(
            rows,
            workers=self.config.data.workers,
            over_limit="skip",
            cache_dir=self.cache_dir,
        )

    def outputs(
        self,
        complexes: RaggedComplexes,
        chosen: Int64[np.ndarray, " chosen"],
        sample: int | None = None,
    ) -> Float[np.ndarray, "row output"]:
        """Predictions of some complexes: values in the user's units, or logits.

        Behind values stand `deviations`, where such were learned. With the number of a ``sample``,
        dropout stays on, and is drawn by it.
        """
        return outputs_of(self.predictor, self.config.training, complexes, chosen, sample)


def _built(recipe: Recipe, folder: RunFolder) -> CellModel:
    """The model that a run describes; raises ValueError, naming the file, where there is none."""
    try:
        return recipe.build()
    except PartRefusedError:
        raise
    except (ArithmeticError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"{folder.model}: no model can be built as it says ({one_line(error)})"
        ) from error
