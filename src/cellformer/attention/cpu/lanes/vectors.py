"""Numbers side by side in one vector register, for compiled functions that work on them at once.

Numba leaves vectorization to LLVM, which gives up where loops are as short as a row of heads and
where arrays might overlap. Here the vectors are said outright: a value of type `Lanes` is one.

Numba's cache notices changes of the file of a cached function only: after a change here, remove
``__pycache__`` beside this file.
"""

from typing import no_type_check

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

from cellformer.attention.cpu.lanes.addresses import first_element

INTEGER = ir.IntType(32)
BYTES = ir.IntType(8).as_pointer()


class Lanes(types.Type):
    """The Numba type of ``count`` floating-point numbers that the processor handles together."""

    def __init__(self, dtype: types.Float, count: int):
        self.dtype, self.count = dtype, count
        self.number = ir.FloatType() if dtype.bitwidth == 32 else ir.DoubleType()
        self.vector = ir.VectorType(self.number, count)
        self.integers = ir.VectorType(INTEGER, count)
        super().__init__(f"Lanes({dtype}, {count})")

    def constant(self, number: float) -> ir.Constant:
        """The same number in every lane."""
        return ir.Constant(self.vector, [ir.Constant(self.number, number)] * self.count)

    def integer_constant(self, number: int) -> ir.Constant:
        """The same 32-bit integer in every lane."""
        return ir.Constant(self.integers, [ir.Constant(INTEGER, number)] * self.count)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    @no_type_check
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, lanes.vector)


@no_type_check
def call(builder, name, lanes, *vectors):
    """Emits a call of an LLVM function of vectors."""
    kind = ir.FunctionType(lanes.vector, [lanes.vector] * len(vectors))
    name = f"llvm.{name}.v{lanes.count}f{lanes.dtype.bitwidth}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), vectors)


@no_type_check
def broadcast(builder, number, vector):
    """Emits the same number in every lane of a vector type."""
    undefined = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(undefined, number, ir.Constant(INTEGER, 0))
    pattern = ir.Constant(ir.VectorType(INTEGER, vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, undefined, pattern)


@no_type_check
def _pointer(context, builder, numbers_type, numbers, index, lanes):
    # Without Numba's wrapping of negative indices, which costs as much as the load.
    first = first_element(context, builder, numbers_type, numbers)
    return builder.bitcast(builder.gep(first, [index]), lanes.vector.as_pointer())


@intrinsic
@no_type_check
def zeros(typing, numbers, lanes):
    """As many zeros as the tuple ``lanes`` is long, of the type of the numbers."""
    result = Lanes(numbers.dtype, len(lanes))
    return result(numbers, lanes), lambda context, builder, signature, values: result.constant(0.0)


@intrinsic
@no_type_check
def count(typing, lanes):
    """How many numbers there are, side by side."""
    return types.intp(lanes), lambda context, builder, signature, values: context.get_constant(
        types.intp, lanes.count
    )


@intrinsic
@no_type_check
def splat(typing, number, like):
    """The same number in every lane."""
    return like(like.dtype, like), lambda context, builder, signature, values: broadcast(
        builder, values[0], like.vector
    )


@intrinsic
@no_type_check
def load(typing, array, index, like):
    """The numbers of a flat contiguous array, or at a pointer, from ``index`` on."""

    def emit(context, builder, signature, values):
        pointer = _pointer(context, builder, array, values[0], values[1], like)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return like(array, types.intp, like), emit


@intrinsic
@no_type_check
def store(typing, array, index, numbers):
    """Sets the numbers of a flat contiguous array, or at a pointer, from ``index`` on."""

    def emit(context, builder, signature, values):
        pointer = _pointer(context, builder, array, values[0], values[1], numbers)
        builder.store(values[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, numbers), emit


@intrinsic
@no_type_check
def prefetch(typing, pointer, index):
    """Asks for the cache line of an element, without waiting for it."""

    def emit(context, builder, signature, values):
        place = builder.bitcast(builder.gep(values[0], [values[1]]), BYTES)
        kind = ir.FunctionType(ir.VoidType(), [BYTES, INTEGER, INTEGER, INTEGER])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        to_read, near, of_data = (ir.Constant(INTEGER, number) for number in (0, 2, 1))
        builder.call(function, [place, to_read, near, of_data])
        return context.get_dummy_value()

    return types.void(pointer, types.intp), emit


@intrinsic
@no_type_check
def opaque(typing, number):
    """The same integer, but the compiler does not know that it is.

    Counted by an opaque number, a loop is not unrolled into precomputed addresses, of which there
    are too many for the registers.
    """

    def emit(context, builder, signature, values):
        kind = ir.FunctionType(values[0].type, [values[0].type])
        return builder.call(ir.InlineAsm(kind, "", "=r,0"), values)

    return types.intp(types.intp), emit


@intrinsic
@no_type_check
def multiply_add(typing, first, second, third):
    """``first * second + third``, rounded once where the processor can."""
    return first(first, first, first), lambda context, builder, signature, values: call(
        builder, "fmuladd", first, *values
    )


@intrinsic
@no_type_check
def multiply(typing, first, second):
    """``first * second``."""
    return first(first, first), lambda context, builder, signature, values: builder.fmul(*values)


@intrinsic
@no_type_check
def divide(typing, first, second):
    """``first / second``."""
    return first(first, first), lambda context, builder, signature, values: builder.fdiv(*values)


@intrinsic
@no_type_check
def add(typing, first, second):
    """``first + second``."""
    return first(first, first), lambda context, builder, signature, values: builder.fadd(*values)


@intrinsic
@no_type_check
def subtract(typing, first, second):
    """``first - second``."""
    return first(first, first), lambda context, builder, signature, values: builder.fsub(*values)


@intrinsic
@no_type_check
def larger(typing, first, second):
    """The larger of two; the second where one of them is not a number."""
    return first(first, first), lambda context, builder, signature, values: builder.select(
        builder.fcmp_ordered(">", *values), *values
    )
