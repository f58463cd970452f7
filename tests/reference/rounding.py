"""A number rounded to fewer bits of mantissa, digit by digit."""

import math


def rounded(value: float, bits: int) -> float:
    """`value` with so many bits behind the leading one, to the nearest; halves are not to be given."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2 ** (bits + 1)), exponent - bits - 1)
