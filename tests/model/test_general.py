import pytest

from cellformer.model.plans.general import General, general_dense, general_sparse
from cellformer.model.relations.diagram import Arrow, TensorDiagram


def test_general_attention_takes_no_dense_arrows():
    with pytest.raises(ValueError, match="dense or sparse as a whole"):
        General(TensorDiagram((Arrow(0, 0, "up", dense=True),)), dense=False)


@pytest.mark.parametrize("plan", [general_dense(3), general_sparse(3)])
def test_there_is_one_softmax_over_the_ranks_that_a_batch_has(plan):
    (relation,) = plan.relations(1)
    assert relation.senders == relation.receivers == (0, 1)
    assert relation.arrows == plan.diagram.arrows
    assert relation.dense == plan.dense
