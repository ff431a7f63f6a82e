"""Makes the direction numbers of Sobol's sequence, streams/pseudo/src/elements/quasi/direction_numbers.rs.

    python3 vectors/make-direction-numbers.py          (needs SciPy)

The numbers come from S. Joe and F. Y. Kuo (new-joe-kuo-6.21201, 2008), as SciPy has them.
"""

import pathlib
import textwrap

import numpy
from scipy.stats import _sobol

DIMENSIONS = 256
PLACE = pathlib.Path(__file__).parents[1] / "streams/pseudo/src/elements/quasi/direction_numbers.rs"

HEAD = """\
//! The direction numbers of Sobol's sequence, by S. Joe and F. Y. Kuo (new-joe-kuo-6.21201, 2008), BSD-3-Clause.
//! Made by vectors/make-direction-numbers.py.

use crate::elements::distributions::entry::MAX_DIMENSIONS;

/// The primitive polynomial of each dimension, modulo 2: bit k is the coefficient of x^k.
#[rustfmt::skip]
pub(super) const POLYNOMIALS: [u32; MAX_DIMENSIONS] = [
{polynomials}
];

/// The first numbers of each dimension, as many as the polynomial has degrees; one in the first dimension.
#[rustfmt::skip]
pub(super) const INITIAL: [u32; {count}] = [
{initial}
];
"""


def rows(numbers):
    return textwrap.indent(textwrap.fill(", ".join(map(str, numbers)), 120), "    ") + ","


numbers = numpy.load(pathlib.Path(_sobol.__file__).parent / "_sobol_direction_numbers.npz")
polynomials = [int(polynomial) for polynomial in numbers["poly"][:DIMENSIONS]]
initial = [
    int(number)
    for polynomial, row in zip(polynomials, numbers["vinit"])
    for number in row[: max(polynomial.bit_length() - 1, 1)]
]
PLACE.write_text(HEAD.format(polynomials=rows(polynomials), initial=rows(initial), count=len(initial)))
