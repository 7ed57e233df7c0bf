"""What stands in a signature is checked while tests run: shapes and all else."""

import pytest
import torch
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from cellformer.attention.cpu.call import columns_of
from cellformer.attention.heads import merge_heads
from cellformer.basics.keys import check_complete
from cellformer.complexes.batches.neighborhood import Neighborhood
from checking import checked


def plain(left: Float[Tensor, " n"], right: Float[Tensor, " n"]) -> int:
    return 0


def nested(left: list[Float[Tensor, " n"]], right: Float[Tensor, " n"] | None) -> int:
    return 0


def quoted(left: "Float[Tensor, ' n']", right: "Float[Tensor, ' n']") -> int:
    return 0


def returned(left, right) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    return left, right


def without_shapes() -> int:
    return "no number"


@pytest.mark.parametrize("function", [plain, nested, quoted, returned])
def test_sizes_of_one_name_must_be_equal_wherever_a_shape_stands(function):
    function = checked(function, typechecker=beartype)
    two, three = torch.zeros(2), torch.zeros(3)
    left, right = ([two], [three]) if "nested" in function.__name__ else (two, three)
    function(left, two)
    with pytest.raises(TypeCheckError):
        function(right, two)


def test_the_shapes_of_the_package_are_checked():
    with pytest.raises(TypeCheckError):
        merge_heads(torch.zeros(2, 3))
    with pytest.raises(TypeCheckError):
        Neighborhood(3, torch.zeros(2).long(), torch.zeros(1).long(), torch.zeros(2))


def test_so_are_signatures_without_shapes():
    with pytest.raises(BeartypeCallHintViolation):
        columns_of(None, 0)
    with pytest.raises(BeartypeCallHintViolation):
        check_complete(int, 5, "here")
    function = checked(without_shapes, typechecker=beartype)
    with pytest.raises(BeartypeCallHintViolation, match="return"):
        function()
