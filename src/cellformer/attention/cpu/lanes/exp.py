"""The exponential function of several numbers at once."""

import math
from typing import no_type_check

import numpy as np
from numba.extending import intrinsic

from cellformer.attention.cpu.lanes.vectors import call

# Cephes, expf: exp(r) = 1 + r + r^2 (0.5 + ...) for |r| <= log(2) / 2, the highest power first.
COEFFICIENTS = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    0.5,
    1.0,
    1.0,
)
# log(2) in two parts; the first has so few digits that its product with n is exact.
LOG_2 = (0.693359375, -2.12194440e-4)
ROUNDING = 1.5 * 2**23
SMALLEST, LARGEST = -87.3, 88.3


@intrinsic
@no_type_check
def exp(typing, numbers):
    """exp(x) to about 1e-7 of its value in float32; in float64, the C library's.

    In float32 it is exactly 0 below -87.3, where the result would not be a normal number, and
    infinite above 88.3.
    """

    def emit(context, builder, signature, values):
        if numbers.dtype.bitwidth == 64:
            return call(builder, "exp", numbers, *values)
        return _exp_float32(builder, numbers, values[0])

    return numbers(numbers), emit


@no_type_check
def _exp_float32(builder, lanes, x):
    """2^n exp(x - n log 2), n a whole number. What is not a number stays so."""

    def constant(number):
        return lanes.constant(float(np.float32(number)))

    def multiply_add(first, second, third):
        return call(builder, "fmuladd", lanes, first, second, third)

    too_small = builder.fcmp_ordered("<", x, constant(SMALLEST))
    too_large = builder.fcmp_ordered(">", x, constant(LARGEST))
    inside = builder.select(too_small, constant(SMALLEST), x)
    inside = builder.select(too_large, constant(LARGEST), inside)
    # Adding 1.5 * 2^23 rounds to a whole number and leaves it in the lowest bits.
    shifted = multiply_add(inside, constant(1 / math.log(2)), constant(ROUNDING))
    n = builder.fsub(shifted, constant(ROUNDING))
    rest = inside
    for part in LOG_2:
        rest = multiply_add(n, constant(-part), rest)
    polynomial = constant(COEFFICIENTS[0])
    for coefficient in COEFFICIENTS[1:]:
        polynomial = multiply_add(polynomial, rest, constant(coefficient))
    # Multiplying by 2^n is adding n to the exponent's bits.
    exponent = builder.shl(builder.bitcast(shifted, lanes.integers), lanes.integer_constant(23))
    bits = builder.add(builder.bitcast(polynomial, lanes.integers), exponent)
    result = builder.bitcast(bits, lanes.vector)
    result = builder.select(too_small, constant(0.0), result)
    return builder.select(too_large, lanes.constant(math.inf), result)
