"""The natural logarithm of several numbers at once."""

import math
from typing import no_type_check

import numpy as np
from numba.extending import intrinsic

from cellformer.attention.cpu.lanes.exp import LOG_2
from cellformer.attention.cpu.lanes.vectors import call

# Cephes, logf: log(1 + r) = r - r^2 / 2 + r^3 (1/3 - ...) for 1 + r between sqrt(1/2) and
# sqrt(2), the highest power first.
COEFFICIENTS = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
MANTISSA, HALF, BIAS = 0x007FFFFF, 0x3F000000, 126


@intrinsic
@no_type_check
def log(typing, numbers):
    """log(x) to about 1e-7 for 0, infinity and normal numbers above 0; in float64, the C library's.

    In float32 nothing is said of other numbers.
    """

    def emit(context, builder, signature, values):
        if numbers.dtype.bitwidth == 64:
            return call(builder, "log", numbers, *values)
        return _log_float32(builder, numbers, values[0])

    return numbers(numbers), emit


@no_type_check
def _log_float32(builder, lanes, x):
    """n log(2) + log(1 + r), where x is 2^n (1 + r). What is not a number stays so."""

    def constant(number):
        return lanes.constant(float(np.float32(number)))

    def multiply_add(first, second, third):
        return call(builder, "fmuladd", lanes, first, second, third)

    bits = builder.bitcast(x, lanes.integers)
    mantissa = builder.and_(bits, lanes.integer_constant(MANTISSA))
    mantissa = builder.bitcast(builder.or_(mantissa, lanes.integer_constant(HALF)), lanes.vector)
    exponent = builder.sub(
        builder.lshr(bits, lanes.integer_constant(23)), lanes.integer_constant(BIAS)
    )
    n = builder.sitofp(exponent, lanes.vector)
    small = builder.fcmp_ordered("<", mantissa, constant(math.sqrt(0.5)))
    n = builder.select(small, builder.fsub(n, constant(1.0)), n)
    doubled = builder.select(small, builder.fadd(mantissa, mantissa), mantissa)
    r = builder.fsub(doubled, constant(1.0))
    square = builder.fmul(r, r)
    polynomial = constant(COEFFICIENTS[0])
    for coefficient in COEFFICIENTS[1:]:
        polynomial = multiply_add(polynomial, r, constant(coefficient))
    rest = builder.fmul(polynomial, builder.fmul(r, square))
    rest = multiply_add(n, constant(LOG_2[1]), rest)
    rest = multiply_add(square, constant(-0.5), rest)
    result = multiply_add(n, constant(LOG_2[0]), builder.fadd(r, rest))
    zero = builder.fcmp_ordered("==", x, constant(0.0))
    result = builder.select(zero, lanes.constant(-math.inf), result)
    endless = builder.fcmp_unordered("==", x, lanes.constant(math.inf))  # or not a number
    return builder.select(endless, x, result)
