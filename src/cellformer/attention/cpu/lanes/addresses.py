"""Where arrays start, which is all that compiled functions need of them.

Passing an array costs much more than its address: it is seven numbers, and references to it are
counted.
"""

from typing import no_type_check

from numba.core import errors, types
from numba.extending import intrinsic


@intrinsic
@no_type_check
def by_address(typing, given):
    """A flat contiguous array as a pointer to its start, which can be indexed like the array.

    Of a NamedTuple, the same with pointers in place of arrays, also in those that it holds. Whoever
    made an array must `keep` it for as long as a pointer to it is used.
    """

    def emit(context, builder, signature, values):
        return _converted(context, builder, given, values[0])

    return _addressed(given)(given), emit


@no_type_check
def _addressed(kind):
    """The type that a type becomes."""
    if isinstance(kind, types.Array):
        return types.CPointer(kind.dtype)
    if isinstance(kind, types.BaseNamedTuple):
        return types.BaseTuple.from_types([_addressed(part) for part in kind], kind.instance_class)
    return kind


@no_type_check
def _converted(context, builder, kind, value):
    if isinstance(kind, types.Array):
        return first_element(context, builder, kind, value)
    if isinstance(kind, types.BaseNamedTuple):
        parts = [
            _converted(context, builder, part, builder.extract_value(value, place))
            for place, part in enumerate(kind)
        ]
        return context.make_tuple(builder, _addressed(kind), parts)
    return value


@no_type_check
def first_element(context, builder, numbers_type, numbers):
    """Emits the pointer to the start of an array, or passes on a pointer."""
    if isinstance(numbers_type, types.CPointer):
        return numbers
    if numbers_type.layout != "C" or numbers_type.ndim != 1:
        raise errors.TypingError(f"a flat contiguous array is needed, got {numbers_type}")
    return context.make_array(numbers_type)(context, builder, numbers).data


@intrinsic
@no_type_check
def beyond(typing, pointer, count):
    """The pointer to the element ``count`` places further on."""
    return pointer(pointer, types.intp), lambda context, builder, signature, values: builder.gep(
        values[0], [values[1]]
    )


@intrinsic
@no_type_check
def keep(typing, array):
    """Does nothing, but an array is not freed before its last use."""
    return types.void(array), lambda context, builder, signature, values: context.get_dummy_value()
