"""What a run folder knows beside its configuration: shapes, task and scaling."""

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellformer.basics.archives import one_line
from cellformer.basics.decoding import decoded
from cellformer.basics.parts.reference import Reference, module_name
from cellformer.basics.parts.stored import versions
from cellformer.basics.parts.trust import PartRefusedError
from cellformer.basics.sealed import read_sealed
from cellformer.data.dataset import Task
from cellformer.model.config import DataShape, DescriptorShape, ModelConfig
from cellformer.model.described import CellModel, cell_model
from cellformer.model.plans.named import attention_plan, plan_from_dict, plan_to_dict
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.unused import refuse_unused
from cellformer.training.catalogs import LOSSES
from cellformer.training.config import RunConfig, TrainingConfig
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.run_folder import RunFolder, write_json
from cellformer.training.runs.scaling import Scaling

FORMAT = 1


@dataclass(frozen=True)
class Recipe:
    """All that is needed to build the model of a run and to read its outputs."""

    task: Task
    scaling: Scaling
    model: ModelConfig
    plan: AttentionPlan

    @classmethod
    def for_materials(
        cls, config: RunConfig, materials: Materials, plan: AttentionPlan | None = None
    ) -> "Recipe":
        """Reads shapes off the complexes, and the scaling off the training targets alone.

        ``plan`` stands in for the one that the configuration names. Raises ValueError for a choice
        about the model that these complexes or this plan have no use for.
        """
        complexes, task = materials.complexes, materials.task
        outputs = number_of_outputs(task, config.training.loss)
        # No vertex is ever reversed: its potential is a value like any other.
        shape = DataShape.of(complexes, outputs, task.rank, flips=task.flips and task.rank != 0)
        if complexes.descriptors is not None:
            described = DescriptorShape.of(complexes.descriptors, materials.split["train"])
            shape = replace(shape, descriptors=described)
        if plan is None:
            plan = attention_plan(config.attention, len(complexes.ranks) - 1)
        model = ModelConfig(config.model, shape)
        refuse_unused(model, plan)
        return cls(task, scaling_of(materials, config.training), model, plan)

    def build(self) -> CellModel:
        """The model, with fresh weights; raises ValueError for a description that has none."""
        return cell_model(self.model, self.plan)

    def write(self, folder: RunFolder) -> None:
        """Writes model.json; raises ValueError for a plan that could not be found again."""
        attention = plan_to_dict(self.plan)
        readout = Reference.parse(self.model.architecture.readout)
        own = [] if readout.module is None else [{"part": f"{module_name(readout.module)}:"}]
        write_json(
            folder.model,
            {
                "format": FORMAT,
                "task": dataclasses.asdict(self.task),
                "scaling": dataclasses.asdict(self.scaling),
                "model": self.model.to_dict(),
                "attention": attention,
                "versions": versions([attention, *own]),
            },
        )

    @classmethod
    def read(cls, folder: RunFolder) -> "Recipe":
        """Reads model.json; raises ValueError, naming the file, where it is off.

        PartRefusedError where its plan is code that was not named by `allow_parts`.
        """
        path = folder.require(folder.model)
        values: Any = read_sealed(path)
        try:
            if values["format"] != FORMAT:
                raise ValueError(f"format {values['format']}, this version reads {FORMAT}")
            task, scaling = _task(values["task"]), decoded(Scaling, values["scaling"], "scaling")
            if {len(scaling.mean), len(scaling.deviation)} != {len(task.targets)}:
                raise ValueError(f"scaling is not of {len(task.targets)} targets")
            model = ModelConfig.from_dict(values["model"])
            each, rest = divmod(model.data.outputs, task.outputs)
            if rest or each not in ((1, 2, 3) if task.kind == "regression" else (1,)):
                raise ValueError(f"model has {model.data.outputs} outputs, task {task.outputs}")
            return cls(task, scaling, model, plan_from_dict(values["attention"]))
        except PartRefusedError as error:
            raise PartRefusedError(f"{path}: {error}") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            told = f"{path}: not a model description ({one_line(error)})"
            raise ValueError(f"{told}; restore it from a copy") from error


def number_of_outputs(task: Task, loss: str) -> int:
    """The number of a model's outputs: those of the task, and what else the loss learns of each.

    Raises ValueError for a loss that learns more of classes, and as `Catalog.find` does.
    """
    columns = 1 if loss == "auto" else getattr(LOSSES.find(loss)[0], "columns", 1)
    if columns != 1 and task.kind != "regression":
        raise ValueError(f"training.loss={loss} learns deviations of values, not of classes")
    if columns != 1 and task.flips:
        raise ValueError(
            f"training.loss={loss} learns deviations, which do not flip with the orientation as "
            "these targets do; choose l1 or mse"
        )
    return task.outputs * int(columns)


def _task(told: Any) -> Task:
    """A task as JSON holds it; labels are numbers or words."""
    targets, labels = told["targets"], told["labels"]
    if not isinstance(targets, list) or not all(isinstance(name, str) for name in targets):
        raise ValueError(f"task.targets must be names, got {targets!r}")
    if not isinstance(labels, list) or not all(
        isinstance(word, str | int | float) for word in labels
    ):
        raise ValueError(f"task.labels must be words or numbers, got {labels!r}")
    units = told.get("units", [])
    if not isinstance(units, list) or not all(isinstance(unit, str) for unit in units):
        raise ValueError(f"task.units must be words, got {units!r}")
    return Task(
        told["kind"],
        tuple(targets),
        told["metric"],
        tuple(labels),
        told.get("rank"),  # runs of before have none, nor units, nor flips
        tuple(units),
        told.get("flips", False),
    )


def scaling_of(materials: Materials, chosen: TrainingConfig) -> Scaling:
    """How training sees the targets; read off the training part alone."""
    task = materials.task
    if task.kind != "regression" or not chosen.standardize:
        return Scaling.none(len(task.targets))
    complexes, learned = materials.complexes, materials.split["train"]
    known = complexes.targets_of(learned)
    if complexes.bounds is not None:  # which may lie far from the values that are known
        above, below = np.split(complexes.bounds[learned], 2, axis=1)
        known = np.concatenate([known, above, below])
    return Scaling.fit(known, centered=not task.flips)
