"""The distributions with parameters in Python floats, which are IEEE 754 doubles: the same operations in this order give
the same bits everywhere. `make-pseudo-distributions.py` makes known answers of them.

Nothing here comes from the crate wellspring-pseudo. The blocks come from make-pseudo-counter.py, normal and
exponential numbers from make-pseudo-elements.py.
"""

import importlib.util
import itertools
import math
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("elements", HERE / "make-pseudo-elements.py")
model = importlib.util.module_from_spec(spec)
spec.loader.exec_module(model)

KINDS = (
    "lognormal weibull cauchy gamma beta t truncated geometric binomial poisson choice subsets dirichlet multinomial"
    " multivariate sphere sobol halton laplace gumbel logistic rayleigh pareto power triangular vonmises wald f"
    " noncentral_chisquare noncentral_f negative_binomial hypergeometric logseries zipf multivariate_hypergeometric"
).split()
ROWS = {kind: 2**63 + (number << 56) for number, kind in enumerate(KINDS, 7)}
OWN_BLOCKS = 15  # The row of the first block of its own is 16 rows behind: `retries` adds one.


class Words:
    """The words of one element: its head, and blocks of its own."""

    def __init__(self, name, kind, index, head):
        self.words = itertools.chain(head, name.retries(ROWS[kind] + OWN_BLOCKS, index))

    def word(self):
        return next(self.words)

    def uniform(self):
        return model.uniform(self.word())

    def positive(self):
        return 1.0 - self.uniform()

    def normal(self):
        return model.ziggurat(model.Normal, self.word(), self.words)

    def exponential(self):
        return model.ziggurat(model.Exponential, self.word(), self.words)

    def below(self, bound):
        return model.integer(self.word(), 64, bound, self.words)


def all_words(name, kind, head_words, first, count):
    heads = name.words(ROWS[kind], first * head_words, count * head_words, 8)
    for i in range(count):
        yield Words(name, kind, first + i, heads[i * head_words : (i + 1) * head_words])


# Elementary functions.

HIGH, LOW, LOG2_E = model.LN_2_HIGH, model.LN_2_LOW, 1.4426950408889634
HALF_LN_2_PI = 0.9189385332046728


def ln(x):
    above = struct.unpack("<q", struct.pack("<d", x))[0] - 0x3FE6A09E667F3BCD
    exponent = float(above >> 52)
    m = struct.unpack("<d", struct.pack("<q", (above & (2**52 - 1)) + 0x3FE6A09E667F3BCD))[0]
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    z2, z4 = z * z, (z * z) * (z * z)
    low = (1 / 3 + z * (1 / 5)) + z2 * (1 / 7 + z * (1 / 9))
    middle = (1 / 11 + z * (1 / 13)) + z2 * (1 / 15 + z * (1 / 17))
    series = z * (low + z4 * (middle + z4 * (1 / 19 + z * (1 / 21))))
    return exponent * HIGH + (exponent * LOW + (2.0 * s + 2.0 * s * series))


def ln_1p(x):
    total = 1.0 + x
    return x if total == 1.0 else ln(total) * (x / (total - 1.0))


def exp_parts(x):
    """e^x as n and y of 2^n (1 + y)."""
    x = min(max(x, -746.0), 710.0)
    n = (x * LOG2_E + 6755399441055744.0) - 6755399441055744.0
    r = (x - n * HIGH) - n * LOW
    r2, r4 = r * r, (r * r) * (r * r)
    c = [1 / math.factorial(k) for k in range(14)]
    low = r2 * (c[2] + r * c[3])
    middle = (c[4] + r * c[5]) + r2 * (c[6] + r * c[7])
    high = (c[8] + r * c[9]) + r2 * (c[10] + r * c[11])
    return int(n), r + (low + r4 * (middle + r4 * (high + r4 * (c[12] + r * c[13]))))


def scaled(number, n):
    half = n // 2
    return number * 2.0**half * 2.0 ** (n - half)


def exp(x):
    n, above_1 = exp_parts(x)
    return scaled(1.0 + above_1, n)


def exp_m1(x):
    n, above_1 = exp_parts(x)
    return scaled(1.0 + above_1, n) - 1.0 if n else above_1


# The arc tangent of FreeBSD's C library: the coefficients, and points whose angle is known.
ATAN = """
    3.33333333333329318027e-01 -1.99999999998764832476e-01 1.42857142725034663711e-01 -1.11111104054623557880e-01
    9.09088713343650656196e-02 -7.69187620504482999495e-02 6.66107313738753120669e-02 -5.83357013379057348645e-02
    4.97687799461593236017e-02 -3.65315727442169155270e-02 1.62858201153657823623e-02
"""
ATAN = tuple(map(float, ATAN.split()))


def atan(x):
    if x < 0.4375:
        near, t = 0.0, x
    elif x < 0.6875:
        near, t = 4.63647609000806093515e-01, (2.0 * x - 1.0) / (2.0 + x)
    elif x < 1.1875:
        near, t = 7.85398163397448278999e-01, (x - 1.0) / (x + 1.0)
    elif x < 2.4375:
        near, t = 9.82793723247329054082e-01, (x - 1.5) / (1.0 + 1.5 * x)
    else:
        near, t = 1.57079632679489655800e00, -1.0 / x
    series = 0.0
    for coefficient in reversed(ATAN):
        series = coefficient + t * t * series
    return near + (t - t * (t * t * series))


# ln k! less Stirling's formula, of 0 to 15 to the nearest float.
STIRLING = """
    0.0 0.08106146679532726 0.0413406959554093 0.02767792568499834 0.020790672103765093 0.016644691189821193
    0.013876128823070748 0.01189670994589177 0.010411265261972096 0.009255462182712733 0.00833056343336287
    0.007573675487951841 0.00694284010720953 0.006408994188004207 0.0059513701127588475 0.005554733551962801
"""
STIRLING = tuple(map(float, STIRLING.split()))


def ln_poisson(k, mean):
    if k == 0.0:
        return -mean
    square = k * k
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / k
    d = (k - mean) / mean
    deviance = mean * ((1.0 + d) * ln_1p(d) - d)
    return -(STIRLING[int(k)] if k <= 15.0 else series) - deviance - HALF_LN_2_PI - 0.5 * ln(k)


def ln_binomial(k, n, p, q):
    return ln_poisson(k, n * p) + ln_poisson(n - k, n * q)


# Continuous distributions.


def lognormal(words, mean, sigma):
    return exp(mean + sigma * words.normal())


def weibull(words, shape):
    x = words.exponential()
    return exp(ln(x) / shape) if x > 0.0 else 0.0


def cauchy(words):
    numerator = words.normal()
    return numerator / words.normal()


def raised_gamma(words, shape):
    d = (shape + 1.0 if shape < 1.0 else shape) - 1 / 3
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = words.normal()
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v = root * root * root
        u = words.positive()
        square = x * x
        if u < 1.0 - 0.0331 * square * square or ln(u) < 0.5 * square + d * (1.0 - v + ln(v)):
            return d * v


def gamma_parts(words, shape):
    root = ln(words.positive()) / shape if shape < 1.0 else 0.0
    return raised_gamma(words, shape), root


def standard_gamma(words, shape):
    x, root = gamma_parts(words, shape)
    return x * exp(root) if shape < 1.0 else x


def gamma(words, shape, scale):
    return scale * standard_gamma(words, shape)


def beta(words, a, b):
    if a >= 1.0 and b >= 1.0:
        x = standard_gamma(words, a)
        return x / (x + standard_gamma(words, b))
    x, x_root = gamma_parts(words, a)
    y, y_root = gamma_parts(words, b)
    return 1.0 / (1.0 + y / x * exp(y_root - x_root))


def t(words, df):
    normal = words.normal()
    return normal * math.sqrt(0.5 * df / standard_gamma(words, df / 2.0))


def proposal(a, b):
    if a <= 0.0:
        return "normal" if b - a > 2.5 else "uniform", 0.0
    root = math.sqrt(a * a + 4.0)
    if a < 0.257 and b - a > 1.25:
        return "half normal", 0.0
    if b - a > 2.0 / (a + root) * exp(0.5 + 0.25 * a * (a - root)):
        return "exponential", 0.5 * (a + root)
    return "uniform", a


def truncated(words, mean, sigma, low, high):
    a, b = (low - mean) / sigma, (high - mean) / sigma
    sign = 1.0
    if b <= 0.0:
        sign, a, b = -1.0, -b, -a
    kind, number = proposal(a, b)
    while True:
        accepted = True
        if kind == "normal":
            x = words.normal()
        elif kind == "half normal":
            x = abs(words.normal())
        elif kind == "uniform":
            x = a + (b - a) * words.uniform()
            accepted = words.exponential() >= 0.5 * (x - number) * (x + number)
        else:
            x = a + words.exponential() / number
            accepted = words.exponential() >= 0.5 * (x - number) * (x - number)
        if accepted and a <= x <= b:
            return min(max(mean + sigma * (sign * x), low), high)


# Functions of a few numbers.


def laplace(words, location, scale):
    above = words.exponential()
    return location + scale * (above - words.exponential())


def gumbel(words, location, scale):
    x = 0.0
    while x == 0.0:
        x = words.exponential()
    return location - scale * ln(x)


def logistic(words, location, scale):
    u = 0.0
    while u == 0.0:
        u = words.uniform()
    return location + scale * ln(u / (1.0 - u))


def rayleigh(words, scale):
    return scale * math.sqrt(2.0 * words.exponential())


def pareto(words, a):
    return exp_m1(words.exponential() / a)


def power(words, a):
    return exp(ln(words.positive()) / a)


def triangular(words, left, mode, right):
    u, length = words.uniform(), right - left
    if u <= (mode - left) / length:
        return left + math.sqrt(u * (length * (mode - left)))
    return right - math.sqrt((1.0 - u) * (length * (right - mode)))


def wrapped(angle):
    if angle > math.pi:
        return max(angle - math.tau, -math.pi)
    return min(angle + math.tau, math.pi) if angle < -math.pi else angle


def vonmises(words, mu, kappa):
    is_uniform, excess = kappa < 1e-8, 0.0
    if not is_uniform:
        square = 4.0 * kappa * kappa
        above = 2.0 / (square / (math.sqrt(1.0 + square) + 1.0) if kappa < 1e8 else 2.0 * kappa - 1.0)
        excess = above / (math.sqrt(1.0 + above) + 1.0)
    while True:
        x = 2.0 * words.uniform() - 1.0
        y = 2.0 * words.uniform() - 1.0
        length = x * x + y * y
        if length > 1.0 or x == 0.0:
            continue
        over, under = 2.0 * x * x / length, 2.0 * y * y / length
        fall = under
        if not is_uniform:
            fall = excess * under / (excess + over)
            c = kappa * (excess + fall)
            u = words.positive()
            if c * (2.0 - c) - u <= 0.0 and ln(c / u) + 1.0 - c < 0.0:
                continue
        angle = 2.0 * atan(math.sqrt(fall / (2.0 - fall)))
        return wrapped(wrapped(math.fmod(mu, math.tau)) + (-angle if x < 0.0 else angle))


def wald(words, mean, scale):
    z = words.normal()
    d = min(0.5 * (mean / scale), 1e100) * (z * z)
    root = 1.0 + d + math.sqrt(d * (d + 2.0))
    is_small = words.uniform() * (1.0 + 1.0 / root) <= 1.0
    return mean / root if is_small else mean * root


def f(words, numerator, denominator):
    x, x_root = gamma_parts(words, numerator / 2.0)
    y, y_root = gamma_parts(words, denominator / 2.0)
    return x / y * (denominator / numerator) * exp(x_root - y_root)


def noncentral_chisquare(words, df, noncentrality):
    if df > 1.0:
        z = words.normal() + math.sqrt(noncentrality)
        return 2.0 * standard_gamma(words, (df - 1.0) / 2.0) + z * z
    more = float(poisson(words, noncentrality / 2.0))
    return 2.0 * standard_gamma(words, df / 2.0 + more)


def noncentral_f(words, numerator, denominator, noncentrality):
    x = noncentral_chisquare(words, numerator, noncentrality)
    y = 2.0 * standard_gamma(words, denominator / 2.0)
    return x / max(y, 2.2250738585072014e-308) * (denominator / numerator)


# Counts.


def geometric(words, p):
    rate = math.inf if p == 1.0 else -ln_1p(-p)
    return int(words.exponential() / rate) + 1


def inverted(words, first, ratio):
    while True:
        rest, probability, k = words.uniform(), first, 0.0
        while rest >= probability and k < 110.0:
            rest -= probability
            k += 1.0
            probability *= ratio(k)
        if k < 110.0:
            return k


def rejected(words, hat, last, ln_probability):
    a, b, c, squeeze, ln_height = hat
    while True:
        u = words.uniform() - 0.5
        v = words.positive()
        edge = 0.5 - abs(u)
        x = (2.0 * a / edge + b) * u + c if edge else -math.inf
        if not 0.0 <= x < last + 1.0:
            continue
        k = float(int(x))
        if edge >= 0.07 and v <= squeeze:
            return k
        if ln(v / (a / (edge * edge) + b)) + ln_height <= ln_probability(k):
            return k


def binomial(words, n, p):
    n, swapped = float(n), p > 0.5
    p = 1.0 - p if swapped else p
    q = 1.0 - p
    if n * p < 10.0:
        odds = p / q
        k = inverted(words, exp(n * ln_1p(-p)), lambda k: (n + 1.0 - k) / k * odds)
    else:
        deviation = math.sqrt(n * p * q)
        b = 1.15 + 2.53 * deviation
        mode = float(int((n + 1.0) * p))
        ln_height = ln((2.83 + 5.1 / b) * deviation) + ln_binomial(mode, n, p, q)
        hat = (-0.0873 + 0.0248 * b + 0.01 * p, b, n * p + 0.5, 0.92 - 4.2 / b, ln_height)
        k = rejected(words, hat, n, lambda k: ln_binomial(k, n, p, q))
    return int(n - k if swapped else k)


def poisson(words, mean):
    if mean < 10.0:
        return int(inverted(words, exp(-mean), lambda k: mean / k))
    b = 0.931 + 2.53 * math.sqrt(mean)
    hat = (-0.059 + 0.02483 * b, b, mean + 0.43, 0.9277 - 3.6224 / (b - 2.0), ln(1.1239 + 1.1328 / (b - 3.4)))
    return int(rejected(words, hat, 9223372036854774784.0, lambda k: ln_poisson(k, mean)))


def choice_columns(weights):
    total = 0.0
    for weight in weights:
        total += weight
    parts = [weight / total * float(len(weights)) for weight in weights]
    short = [i for i, part in enumerate(parts) if part < 1.0]
    long = [i for i, part in enumerate(parts) if part >= 1.0]
    columns = [(2**64 - 1, i) for i in range(len(weights))]
    while short and long:
        below, above = short.pop(), long[-1]
        columns[below] = int(parts[below] * 2.0**64), above
        parts[above] -= 1.0 - parts[below]
        if parts[above] < 1.0:
            short.append(long.pop())
    return columns


def choice(words, *weights):
    index, place = divmod(words.word() * len(weights), 2**64)
    share, other = choice_columns(weights)[index]
    return index if place < share else other


# Counts from an urn, and counts with long tails.


def negative_binomial(words, n, p):
    if n * ((1.0 - p) / p) < 32.0 and p >= 1.0 / 32.0:
        while True:
            u, k, probability = words.uniform(), 0.0, exp(n * ln(p))
            total, before = probability, None
            while total <= u and not (total == before and k > 32.0):
                probability *= (n + k) / (k + 1.0) * (1.0 - p)
                k, total, before = k + 1.0, total + probability, total
            if u < total:
                return int(k)
    return poisson(words, min((1.0 - p) / p * standard_gamma(words, n), 9.223372006484771e18))


def ln_hypergeometric(k, first, second, sample):
    p = sample / (first + second)
    return ln_binomial(k, first, p, 1.0 - p) + ln_binomial(sample - k, second, p, 1.0 - p)


def hypergeometric_of_0(rare, common, sample):
    fewer, more, total = min(rare, sample), max(rare, sample), rare + common
    if fewer > 32.0:
        p = sample / total
        none, all_common = rare * ln_1p(-p), ln_binomial(sample, common, p, 1.0 - p) - ln_poisson(common, common)
        return exp(none + all_common - (ln_binomial(sample, total, p, 1.0 - p) - ln_poisson(total, total)))
    left = math.prod([total - more - i for i in range(int(fewer))], start=1.0)
    return left / math.prod([total - i for i in range(int(fewer))], start=1.0)


def hypergeometric(words, good, bad, drawn):
    good, bad, drawn = float(good), float(bad), float(drawn)
    rare, common = min(good, bad), max(good, bad)
    sample, total = min(drawn, good + bad - drawn), good + bad
    if rare == 0.0 or sample == 0.0:
        k = 0.0
    elif sample * (rare / total) < 10.0:
        ratio = lambda k: max(rare + 1.0 - k, 0.0) * max(sample + 1.0 - k, 0.0) / (k * (common - sample + k))  # noqa: E731
        k = inverted(words, hypergeometric_of_0(rare, common, sample), ratio)
    else:
        share = rare / total
        variance = (total - sample) * sample * share * (1.0 - share) / (total - 1.0)
        # 2 sqrt(2 / e) and 3 - 2 sqrt(3 / e).
        width = 1.7155277699214135 * math.sqrt(variance + 0.5) + 0.8989161620588988
        mode = float(int((sample + 1.0) * (rare + 1.0) / (total + 2.0)))
        highest = ln_hypergeometric(mode, rare, common, sample)
        while True:
            u = words.positive()
            x = sample * share + 0.5 + width * (words.uniform() - 0.5) / u
            if not 0.0 <= x < min(rare, sample) + 1.0:
                continue
            k = float(int(x))
            t = ln_hypergeometric(k, rare, common, sample) - highest
            if u * (4.0 - u) - 3.0 <= t or u * (u - t) < 1.0 and 2.0 * ln(u) <= t:
                break
    # Of the rare colour in the smaller of the two samples; the question is of the good ones in what is drawn.
    if good > bad:
        k = sample - k
    return int(k if sample == drawn else good - k)


def logseries(words, p):
    while True:
        v = words.uniform()
        if v >= p:
            return 1
        q = -exp_m1(ln_1p(-p) * words.uniform())
        if v > q * q:
            return 1 if v >= q else 2
        if v > 0.0 and q < 1.0:
            return min(int(ln(v) / ln(q)), 2**63 - 2) + 1


def zipf(words, a):
    above_1 = min(a - 1.0, 1024.0)
    if above_1 == 1024.0:
        return 1
    ln_b = above_1 * 0.6931471805599453
    while True:
        u, v = words.uniform(), words.uniform()
        x = exp(-ln(u * exp(-63.0 * ln_b) + (1.0 - u)) / above_1)
        if x >= 2.0**63:
            continue
        k = max(int(x), 1)
        t = exp_m1(above_1 * ln_1p(1.0 / k))
        if v * k * t / exp_m1(ln_b) <= (1.0 + t) / exp(ln_b):
            return k


# Rows: the words of each number of a row.


def subsets(row, n, k):
    numbers = list(range(n))
    for column, words in enumerate(row):
        place = column + words.below(n - column)
        numbers[column], numbers[place] = numbers[place], numbers[column]
    return numbers[:k]


def dirichlet(row, *alpha):
    if min(alpha) < 1.0:
        parts = [gamma_parts(words, a) for words, a in zip(row, alpha)]
        logarithms = [ln(x) + root for x, root in parts]
        numbers = [exp(logarithm - max(logarithms)) for logarithm in logarithms]
    else:
        numbers = [standard_gamma(words, a) for words, a in zip(row, alpha)]
    total = 0.0
    for number in numbers:
        total += number
    return [number / total for number in numbers]


def multinomial(row, n, *p):
    counts, left, share = [], n, 1.0
    for words, q in zip(row[:-1], p):
        ratio = min(q / share, 1.0) if share > 0.0 else 0.0
        share -= q
        counts.append(left if left == 0 or ratio == 1.0 else binomial(words, left, ratio))
        left -= counts[-1]
    return [*counts, left]


def multivariate(row, *numbers):
    k = len(row)
    mean, rest = list(numbers[:k]), [list(numbers[k * (i + 1) : k * (i + 2)]) for i in range(k)]
    for j, z in enumerate([words.normal() for words in row]):
        root = math.sqrt(rest[j][j])
        column = [root] + [rest[i][j] / root for i in range(j + 1, k)]
        for i in range(j + 1, k):
            for m in range(j + 1, i + 1):
                rest[i][m] -= column[i - j] * column[m - j]
        for i in range(j, k):
            mean[i] += column[i - j] * z
    return mean


def sphere(row, dimensions):
    numbers = [words.normal() for words in row]
    total = 0.0
    for number in numbers:
        total += number * number
    return [number / math.sqrt(total) for number in numbers]


def multivariate_hypergeometric(row, drawn, *colors):
    counts = []
    for column, words in enumerate(row):
        counts.append(hypergeometric(words, colors[column], sum(colors[column + 1 :]), drawn - sum(counts)))
    return counts
