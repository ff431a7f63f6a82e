"""Makes vectors/pseudo-distributions.txt.

    python3 vectors/make-pseudo-distributions.py          (needs NumPy and cryptography)

The distributions come from pseudo_distributions.py; the points of sequences are here.
"""

import hashlib
import itertools
import math
import pathlib
import struct

import pseudo_distributions as made_by
from pseudo_distributions import OWN_BLOCKS, ROWS, model

HERE = pathlib.Path(__file__).parent

# Points.


def sobol_numbers(name, dimensions):
    """The scrambled direction numbers and the shift of each dimension. The plain ones are made from SciPy's table."""
    text = (HERE.parent / "streams/pseudo/src/elements/quasi/direction_numbers.rs").read_text()
    tables = [[int(x) for x in part.split("];")[0].replace(",", " ").split()] for part in text.split("= [")[1:]]
    initial = iter(tables[1])
    for dimension, polynomial in zip(range(dimensions), tables[0]):
        degree = polynomial.bit_length() - 1
        m = list(itertools.islice(initial, max(degree, 1)))
        while len(m) < 64:
            if degree == 0:
                m.append(1)
                continue
            new = m[-degree] ^ m[-degree] << degree
            for step in range(1, degree):
                new ^= (polynomial >> (degree - step) & 1) * m[-step] << step
            m.append(new)
        words = name.retries(ROWS["sobol"] + OWN_BLOCKS, dimension)
        rows = [next(words) >> (63 - r) << (63 - r) | 1 << (63 - r) for r in range(64)]
        # Row r has random bits above bit 63 - r, and 1 there.
        directions = [m[bit] << (63 - bit) for bit in range(64)]
        scrambled = [sum(((d & row).bit_count() & 1) << (63 - r) for r, row in enumerate(rows)) for d in directions]
        yield scrambled, next(words)


def sobol(name, first, count, dimensions):
    numbers = list(sobol_numbers(name, dimensions))
    for i in range(first, first + count):
        gray = i ^ i >> 1
        for directions, bits in numbers:
            for bit in range(64):
                bits ^= directions[bit] * (gray >> bit & 1)
            yield model.uniform(bits)


def halton(name, first, count, dimensions):
    primes = [n for n in range(2, 2000) if all(n % d for d in range(2, math.isqrt(n) + 1))][:dimensions]
    axes = []
    for dimension, base in enumerate(primes):
        permutations, step = [], 1.0 / base
        while 1.0 - step < 1.0:
            words = name.retries(ROWS["halton"] + OWN_BLOCKS, dimension << 8 | len(permutations))
            order = list(range(base))
            for place in range(1, base):
                other = model.integer(next(words), 64, place + 1, words)
                order[place], order[other] = order[other], order[place]
            permutations.append(order)
            step /= base
        axes.append((base, permutations))
    for i in range(first, first + count):
        for base, permutations in axes:
            rest, total, step = i, 0.0, 1.0 / base
            for permutation in permutations:
                total += permutation[rest % base] * step
                rest, step = rest // base, step / base
            yield min(total, 1.0 - 2.0**-53)


# Lines: the function, the words of a head, the parameters, the numbers of a row (0 where an element is one number).
CASES = [
    (made_by.lognormal, 1, (0.25, 0.75), 0),
    (made_by.lognormal, 1, (-700.0, 20.0), 0),
    (made_by.weibull, 1, (1.5,), 0),
    (made_by.weibull, 1, (0.01,), 0),
    (made_by.cauchy, 2, (), 0),
    *((made_by.gamma, 4, parameters, 0) for parameters in ((2.5, 1.0), (1.0, 0.1), (0.25, 3.0), (0.001, 1.0), (1e6, 2.0))),
    *((made_by.beta, 8, parameters, 0) for parameters in ((2.0, 5.0), (0.5, 0.5), (0.001, 0.002), (3.0, 0.7))),
    (made_by.t, 4, (1.0,), 0),
    (made_by.t, 4, (7.5,), 0),
    *(
        (made_by.truncated, 4, (mean, sigma, low, high), 0)
        for mean, sigma, low, high in (
            (0.0, 1.0, -1.0, 2.0),
            (1.0, 2.0, 1.0, math.inf),
            (0.0, 1.0, -0.5, 0.25),
            (0.0, 1.0, 0.125, math.inf),
            (0.0, 1.0, -math.inf, -8.0),
            (0.0, 1.0, 8.0, 8.01),
        )
    ),
    *((made_by.geometric, 1, (p,), 0) for p in (0.9, 0.1, 1e-12, 1.0)),
    *(
        (made_by.binomial, 4, parameters, 0)
        for parameters in ((20, 0.3), (100, 0.3), (1000, 0.99), (10**9, 0.5), (10**15, 1e-14), (10**18, 0.25), (7, 1.0))
    ),
    *((made_by.poisson, 1 if mean < 10 else 4, (mean,), 0) for mean in (0.0, 0.5, 9.9, 10.0, 123.4, 1e6, 1e18)),
    (made_by.choice, 1, (0.5, 0.0, 0.125, 0.25, 1.0), 0),
    (made_by.choice, 1, (1.0, 1.0, 1.0), 0),
    (made_by.subsets, 1, (10, 3), 3),
    (made_by.subsets, 1, (8193, 7), 7),
    (made_by.subsets, 1, (52, 52), 52),
    (made_by.dirichlet, 4, (1.0, 2.0, 5.5), 3),
    (made_by.dirichlet, 4, (0.001, 0.002, 3.0, 0.7), 4),
    (made_by.multinomial, 4, (12, 0.2, 0.5, 0.3), 3),
    (made_by.multinomial, 4, (4000, 0.25, 0.0, 0.5, 0.25), 4),
    (made_by.multivariate, 1, (1.0, -2.0, 0.5, 4.0, 1.2, -0.8, 1.2, 1.0, 0.3, -0.8, 0.3, 2.0), 3),
    (made_by.sphere, 1, (3,), 3),
    (sobol, 0, (5,), 5),
    (halton, 0, (5,), 5),
    (made_by.laplace, 2, (0.25, 2.0), 0),
    (made_by.gumbel, 1, (3.5, 0.5), 0),
    (made_by.logistic, 1, (-1.0, 2.0), 0),
    (made_by.rayleigh, 1, (1.5,), 0),
    *((made_by.pareto, 1, (a,), 0) for a in (3.0, 0.01)),
    *((made_by.power, 1, (a,), 0) for a in (2.5, 0.01)),
    *((made_by.triangular, 1, parameters, 0) for parameters in ((-1.0, 0.25, 2.0), (0.0, 0.0, 1.0))),
    *((made_by.vonmises, 4, parameters, 0) for parameters in ((0.5, 2.0), (10.0, 1e-9), (-3.0, 1e-7), (3.0, 1e9))),
    *((made_by.wald, 2, parameters, 0) for parameters in ((1.5, 0.75), (1.0, 1e-3))),
    *((made_by.f, 8, parameters, 0) for parameters in ((3.0, 7.5), (0.5, 0.25))),
    *((made_by.noncentral_chisquare, 4, parameters, 0) for parameters in ((3.0, 2.5), (0.5, 1.5), (0.5, 40.0), (1e6, 0.0))),
    *((made_by.noncentral_f, 8, parameters, 0) for parameters in ((3.0, 7.5, 2.0), (0.5, 0.25, 30.0))),
    *((made_by.negative_binomial, 8, parameters, 0) for parameters in ((2.5, 0.3), (0.5, 0.001), (1e9, 0.5))),
    *(
        (made_by.hypergeometric, 4, parameters, 0)
        for parameters in (
            (10, 7, 5),
            (7, 10, 14),
            (300, 100, 380),
            (40, 4000, 300),
            (1000, 500, 600),
            (500, 1000, 1200),
            (10**9, 10**9, 10**9),
            (5, 3, 8),
        )
    ),
    *((made_by.logseries, 2, (p,), 0) for p in (0.0, 0.3, 0.999)),
    *((made_by.zipf, 2, (a,), 0) for a in (1.0001, 1.5, 4.0, 2000.0)),
    (made_by.multivariate_hypergeometric, 4, (20, 5, 9, 30, 11), 4),
    (made_by.multivariate_hypergeometric, 4, (9000, 10000, 1, 5000, 20000), 4),
    *((made_by.negative_binomial, 8, parameters, 0) for parameters in ((40.0, 0.6), (0.1, 0.04))),
]

HEAD = """\
# Known answers for arrays of distributions with parameters, and for the points of sequences.
# Made by vectors/make-pseudo-distributions.py, independently of this project's implementation.
#
# Lines:
#  KIND parameters=N,.. algorithm=A seed=HEX path=P first=I n=N head=HEX,.. sha256=HEX
#       Elements I to I + N - 1, as in pseudo-elements.txt, as f64 or i64. Of a kind whose elements are rows, rows I to
#       I + N - 1. The parameters of multivariate are the mean and the rows of the covariance.
# The order of the lines does not matter. There are {count} lines.
"""


def numbers(name, case, first, count):
    function, head_words, parameters, width = case
    kind = function.__name__
    if not head_words:
        return list(function(name, first, count, *parameters))
    if not width:
        return [function(words, *parameters) for words in made_by.all_words(name, kind, head_words, first, count)]
    words = list(made_by.all_words(name, kind, head_words, first * width, count * width))
    rows = [function(words[i * width : (i + 1) * width], *parameters) for i in range(count)]
    return [number for row in rows for number in row]


def lines():
    for number, case in enumerate(CASES):
        function, _, parameters, width = case
        algorithms = model.FUNCTIONS if number % 5 == 0 else (model.FUNCTIONS[number % 5],)
        for algorithm, (seed, path, first) in itertools.product(
            algorithms, ((2026, (3, 0, 17), 0), (2**128 - 1, (5,), 2**57 + 5))
        ):
            name = model.Name(algorithm, seed, path)
            count = 1000 if not width else 300 // width
            made = numbers(name, case, first, count)
            data = struct.pack(f"<{len(made)}{'d' if isinstance(made[0], float) else 'q'}", *made)
            head = ",".join(data[i : i + 8][::-1].hex() for i in range(0, 32, 8))
            yield (
                f"{function.__name__} parameters={','.join(map(repr, parameters))} algorithm={algorithm.name} seed={seed:x}"
                f" path={'/'.join(map(str, path))} first={first} n={count} head={head}"
                f" sha256={hashlib.sha256(data).hexdigest()}\n"
            )


if __name__ == "__main__":
    made = list(lines())
    (HERE / "pseudo-distributions.txt").write_text(HEAD.format(count=len(made)) + "".join(made))
