"""What is exported: members that answer together, from tensors to what `predict` says."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from cellformer.data.dataset import Task
from cellformer.exporting.inputs import ProgramInputs
from cellformer.model.described import CellModel
from cellformer.training.answers.predictor import in_units
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.runs.scaling import Scaling


class Program(nn.Module):
    """Models of one form as one function of tensors, to be traced while `exporting`.

    ``prediction`` has a row for each complex, or for each cell where cells are predicted: values in
    the units of the targets, the probability of the second of two classes for each target, or that
    of every class. ``uncertainty`` is there where `predict` tells it: of several members, and of
    losses that learn it.
    """

    def __init__(self, models: Sequence[CellModel], scalings: Sequence[Scaling], task: Task):
        super().__init__()
        self.members = nn.ModuleList(models)
        self.scalings = list(scalings)
        self.task = task
        self.inputs = ProgramInputs(models[0])
        learned = models[0].config.data.outputs > self.task.outputs
        told = learned or len(models) > 1
        self.outputs = ("prediction", "uncertainty") if told else ("prediction",)

    @classmethod
    def of(cls, runs: Sequence[TrainedRun]) -> "Program":
        """That of runs which answer together."""
        scalings = [run.recipe.scaling for run in runs]
        return cls([run.model for run in runs], scalings, runs[0].recipe.task)

    def forward(self, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """``prediction`` and, where it is told, ``uncertainty``."""
        cells = self.inputs.batch(batch)
        answers = [
            self._answer(model, scaling, cells)
            for model, scaling in zip(self.members, self.scalings, strict=True)
        ]
        values = torch.stack([answer[0] for answer in answers])
        told = {"prediction": values.mean(0)}
        if len(answers) > 1 and answers[0][1] is None:
            apart = values.std(0)
            if self.task.kind == "multiclass":  # that of the class which is predicted
                apart = apart.gather(1, told["prediction"].argmax(1, keepdim=True))
            told["uncertainty"] = apart
        elif answers[0][1] is not None:
            sides = torch.stack([answer[1] for answer in answers if answer[1] is not None])
            if len(answers) > 1:
                between = values.var(0, correction=0).repeat(1, 2)
                mixed = (sides.square().mean(0) + between).sqrt()
            else:
                mixed = sides[0]
            below, above = mixed.chunk(2, 1)
            told["uncertainty"] = (below + above) / 2
        return told

    def _answer(
        self, model: nn.Module, scaling: Scaling, cells: object
    ) -> tuple[Tensor, Tensor | None]:
        """Of one member, and deviations below and above if it has learned some."""
        outputs: Tensor = model(cells)
        if self.task.kind == "multiclass":
            return outputs.softmax(1), None
        if self.task.kind == "binary":
            return outputs.sigmoid(), None
        return in_units(self.task, scaling, outputs)
