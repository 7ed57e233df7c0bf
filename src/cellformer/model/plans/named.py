"""Attention plans by their names, and as JSON."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

from cellformer.basics.parts.catalog import called
from cellformer.basics.parts.stored import from_json, to_json
from cellformer.basics.suggestions import unknown_choice
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.plans.general import General
from cellformer.model.plans.pairwise import Pairwise
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.plans.reaching import Reaching
from cellformer.model.relations.diagram import TensorDiagram


def attention_plan(text: str, max_rank: int = 2) -> AttentionPlan:
    """A form of attention of the paper, such as ``"pairwise-mixed"``, or one of your own.

    That is ``package.module:Name(argument=value)``, a class or a function whose result is a plan.
    It is told the highest rank of the data if it has an argument ``max_rank``. Raises ValueError,
    naming the nearest name, for an unknown one, and for what makes no plan; PartRefusedError for
    a module that was not named by `allow_parts`.
    """
    found, arguments = ATTENTIONS.find(text)
    what = f"the attention {text}"
    if not callable(found):
        raise ValueError(f"{what} is neither a class nor a function")
    if "max_rank" in signature(found).parameters:
        arguments.setdefault("max_rank", max_rank)
    return _plan(called(found, arguments, what, factory=True), what)


def plan_to_dict(plan: AttentionPlan) -> dict[str, Any]:
    """A plan as JSON holds it; raises ValueError for one that could not be found again."""
    if isinstance(plan, Pairwise | General | Reaching):
        return plan.to_dict()
    told: dict[str, Any] = to_json(plan)
    return told


def plan_from_dict(values: Mapping[str, Any]) -> AttentionPlan:
    """The inverse of `plan_to_dict`, also after a way through JSON.

    Raises ValueError for what was not written by it, PartRefusedError where it names code that
    was not named by `allow_parts`.
    """
    if "part" in values:
        return _plan(from_json(dict(values)), f"the attention {values['part']}")
    match values["kind"]:
        case "pairwise":
            return Pairwise(TensorDiagram.from_dict(values))
        case "general":
            return General(TensorDiagram.from_dict(values), values["dense"])
    raise unknown_choice("kind of plan", values["kind"], ("pairwise", "general"))


def _plan(made: object, what: str) -> AttentionPlan:
    if not isinstance(made, AttentionPlan):
        raise ValueError(
            f"{what} gives {type(made).__name__}, which is no plan: it needs a diagram, relations, "
            "layer and through, as AttentionPlan has them"
        )
    return made
