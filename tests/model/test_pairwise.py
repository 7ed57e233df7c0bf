import pytest

from cellformer.model.plans.pairwise import pairwise_dense, pairwise_mixed, pairwise_sparse


def test_mixed_is_dense_within_a_rank_and_sparse_between_ranks():
    for arrow in pairwise_mixed(3).diagram.arrows:
        assert arrow.dense == (arrow.sender == arrow.receiver)
    assert all(arrow.dense for arrow in pairwise_dense().diagram.arrows)
    assert not any(arrow.dense for arrow in pairwise_sparse().diagram.arrows)


@pytest.mark.parametrize("plan", [pairwise_dense(3), pairwise_mixed(), pairwise_sparse(1)])
def test_there_is_a_softmax_for_each_arrow(plan):
    for relation, arrow in zip(plan.relations(1), plan.diagram.arrows, strict=True):
        assert relation.arrows == (arrow,)
        assert (relation.senders, relation.receivers) == ((arrow.sender,), (arrow.receiver,))
        assert relation.dense == arrow.dense
        assert relation.max_rank == max(arrow.sender, arrow.receiver)
