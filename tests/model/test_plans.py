import json
import sys

import pytest
import torch

import cellformer as cf
from cellformer.basics.parts.catalog import Listed
from cellformer.basics.parts.trust import PartRefusedError, allow_parts
from cellformer.model.catalogs import ATTENTIONS
from cellformer.model.plans.general import general_dense, general_sparse
from cellformer.model.plans.named import attention_plan, plan_from_dict, plan_to_dict
from cellformer.model.plans.pairwise import (
    Pairwise,
    pairwise_dense,
    pairwise_mixed,
    pairwise_sparse,
)
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.relations.diagram import paper_diagram


def through_json(plan):
    return plan_from_dict(json.loads(json.dumps(plan_to_dict(plan))))


@pytest.mark.parametrize("max_rank", [0, 2, 3])
def test_each_name_means_its_plan(max_rank):
    plans = (pairwise_sparse, pairwise_dense, pairwise_mixed, general_sparse, general_dense)
    for name, make in zip(ATTENTIONS.names, plans, strict=True):
        assert attention_plan(name, max_rank) == make(max_rank)
        assert isinstance(make(max_rank), AttentionPlan)


def test_a_misspelt_name_names_the_nearest_right_one():
    with pytest.raises(ValueError, match="did you mean 'pairwise-mixed'"):
        attention_plan("pairwise-mix")


def test_the_text_of_a_listed_one_may_say_its_rank():
    assert attention_plan("general-sparse(max_rank=1)", max_rank=3) == general_sparse(1)
    with pytest.raises(ValueError, match=r"attention general-sparse\(rank=1\) has no argument"):
        attention_plan("general-sparse(rank=1)")


def test_a_new_one_is_one_line(monkeypatch):
    monkeypatch.setitem(
        ATTENTIONS.parts, "one-way", Listed("cellformer.model.plans.named:_upwards")
    )
    monkeypatch.setattr("cellformer.model.plans.named._upwards", upwards, raising=False)
    assert attention_plan("one-way", 3) == upwards(3)
    with pytest.raises(ValueError, match="did you mean 'one-way'"):
        attention_plan("one-wax")


def upwards(max_rank):
    return Pairwise(cf.TensorDiagram(tuple(a for a in paper_diagram(max_rank).arrows
                                           if a.sender <= a.receiver)))  # fmt: skip


@pytest.mark.parametrize("name", ATTENTIONS.names)
def test_plans_survive_json(name):
    assert through_json(attention_plan(name, 3)) == attention_plan(name, 3)


def test_files_of_before_are_read_and_the_paper_s_plans_are_written_alike():
    arrows = [
        {"sender": 0, "receiver": 0, "neighborhood": "up", "dense": False},
        {"sender": 1, "receiver": 0, "neighborhood": "incidence", "dense": False},
    ]
    own = cf.TensorDiagram((cf.Arrow(0, 0, "up"), cf.Arrow(1, 0, "incidence")))
    for values, plan in (
        ({"kind": "pairwise", "arrows": arrows}, Pairwise(own)),
        ({"kind": "general", "dense": True, "arrows": arrows}, cf.General(own, dense=True)),
    ):
        assert plan_from_dict(values) == plan
        assert plan_to_dict(plan) == values


def test_an_unknown_kind_of_plan_is_an_error():
    values = {**Pairwise(paper_diagram()).to_dict(), "kind": "pairwize"}
    with pytest.raises(ValueError, match="did you mean 'pairwise'"):
        plan_from_dict(values)


def test_what_is_no_plan_is_refused():
    described = {"part": "cellformer.model.config:DataShape", "arguments": {}}
    with pytest.raises(ValueError, match="gives DataShape, which is no plan: it needs a diagram"):
        plan_from_dict(described)


def test_a_neighborhood_of_this_package_is_kept_by_its_name():
    plan = Pairwise(cf.TensorDiagram((cf.Arrow(0, 0, cf.up_laplacian), *paper_diagram().arrows)))
    kept = plan_to_dict(plan)["arrows"][0]["neighborhood"]
    assert kept == {"part": "cellformer.complexes.matrices:up_laplacian", "arguments": {}}
    assert through_json(plan) == plan
    forged = json.loads(json.dumps(plan_to_dict(plan)))
    forged["arrows"][0]["neighborhood"]["part"] = "os:system"
    with pytest.raises(PartRefusedError, match="add --import os"):
        plan_from_dict(forged)


def test_what_could_not_be_found_again_is_refused():
    plan = Pairwise(cf.TensorDiagram((cf.Arrow(0, 0, lambda cells: cells),)))
    with pytest.raises(ValueError, match="define it at the top of a module"):
        plan_to_dict(plan)


TEXT = """
from dataclasses import dataclass

import cellformer as cf


def share_an_edge(cells):
    return abs(cells.boundary(1)) @ abs(cells.boundary(1)).T


def near(max_rank):
    arrows = cf.paper_diagram(max_rank).arrows
    return cf.Pairwise(cf.TensorDiagram((*arrows, cf.Arrow(0, 0, share_an_edge))))


@dataclass(frozen=True)
class Twice:
    plan: object

    @property
    def diagram(self):
        return self.plan.diagram

    def relations(self, dim):
        return self.plan.relations(dim)

    def layer(self, options):
        return self.plan.layer(options)

    def through(self, layers, cells, patterns, vertices_only):
        for _ in range(2):
            cells = self.plan.through(layers, cells, patterns, False)
        return cells


def twice(kind="general-sparse"):
    return Twice(cf.attention_plan(kind))


def no_plan():
    return 3


ready = twice()
"""


@pytest.fixture
def own(own_module):
    return own_module(TEXT)


def test_one_s_own_is_found_by_its_module_once_that_is_named(own):
    with pytest.raises(PartRefusedError, match=f"the attention {own}:near is code of {own}"):
        attention_plan(f"{own}:near", 3)
    assert own not in sys.modules
    allow_parts(own)
    plan = attention_plan(f"{own}:near", 3)
    assert plan.diagram.max_rank == 3
    assert plan.diagram.arrows[-1].neighborhood is sys.modules[own].share_an_edge
    twice = attention_plan(f"{own}:twice(kind='pairwise-mixed')", 3)
    assert twice == sys.modules[own].Twice(pairwise_mixed(2))
    for text, reason in (
        ("near(max_rank=1, rank=2)", "has no argument"),
        ("no_plan", "gives int, which is no plan"),
        ("nothing", "unknown part"),
        ("ready", "is neither a class nor a function"),
    ):
        with pytest.raises(ValueError, match=reason):
            attention_plan(f"{own}:{text}")


def test_one_s_own_survives_json_where_its_module_is_named(own, monkeypatch):
    allow_parts(own)
    for text in ("near", "twice"):
        plan = attention_plan(f"{own}:{text}")
        assert through_json(plan) == plan
        with monkeypatch.context() as patch:
            patch.setattr("cellformer.basics.parts.trust._allowed", {})
            with pytest.raises(PartRefusedError, match=f"add --import {own}"):
                through_json(plan)


def test_one_s_own_makes_a_model(own, ring, path, seeded):
    allow_parts(own)
    batch = cf.collate([ring(4), path(3)])
    config = cf.ModelConfig.for_batch(batch, cf.ArchitectureConfig(width=8, layers=2, heads=2))
    for text in ("near", "twice"):
        model = cf.CellularTransformer(config, attention_plan(f"{own}:{text}")).eval()
        together, alone = model(batch), model(cf.collate([ring(4)]))
        torch.testing.assert_close(together[:1], alone)
