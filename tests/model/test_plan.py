import json
from typing import get_args

import pytest

from cellformer.model.config import AttentionName
from cellformer.model.diagram import Arrow, TensorDiagram, paper_diagram
from cellformer.model.plan import (
    General,
    Pairwise,
    attention_plan,
    general_dense,
    general_sparse,
    pairwise_dense,
    pairwise_mixed,
    pairwise_sparse,
    plan_from_dict,
)


def test_mixed_is_dense_within_a_rank_and_sparse_between_ranks():
    for arrow in pairwise_mixed(3).diagram.arrows:
        assert arrow.dense == (arrow.sender == arrow.receiver)
    assert all(arrow.dense for arrow in pairwise_dense().diagram.arrows)
    assert not any(arrow.dense for arrow in pairwise_sparse().diagram.arrows)


@pytest.mark.parametrize("max_rank", [0, 2, 3])
def test_each_name_means_its_plan(max_rank):
    plans = (pairwise_sparse, pairwise_dense, pairwise_mixed, general_sparse, general_dense)
    for name, make in zip(get_args(AttentionName), plans, strict=True):
        assert attention_plan(name, max_rank) == make(max_rank)


def test_a_misspelt_name_names_the_nearest_right_one():
    with pytest.raises(ValueError, match="did you mean 'pairwise-mixed'"):
        attention_plan("pairwise-mix")


@pytest.mark.parametrize("name", get_args(AttentionName))
def test_plans_survive_json(name):
    plan = attention_plan(name, 3)
    assert plan_from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_general_attention_takes_no_dense_arrows():
    with pytest.raises(ValueError, match="dense or sparse as a whole"):
        General(TensorDiagram((Arrow(0, 0, "up", dense=True),)), dense=False)


def test_an_unknown_kind_of_plan_is_an_error():
    values = {**Pairwise(paper_diagram()).to_dict(), "kind": "pairwize"}
    with pytest.raises(ValueError, match="did you mean 'pairwise'"):
        plan_from_dict(values)
