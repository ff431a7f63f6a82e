"""What the tests have in common: their options, and the repository's vectors."""

import functools
import re
from pathlib import Path

import pytest

VECTORS = Path(__file__).resolve().parents[3] / "vectors"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also run what takes minutes")
    parser.addoption("--draws", type=int, default=10**6, help="numbers that each test of a distribution draws")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    for item in items:
        if item.get_closest_marker("heavy"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: runs with --all"))


def lines(name: str) -> list[tuple[str, dict[str, str]]]:
    """The lines of a file of vectors: a word, and fields."""
    result = []
    for line in (VECTORS / name).read_text().splitlines():
        if line and not line.startswith("#"):
            word, *fields = line.split()
            result.append((word, dict(field.split("=", 1) for field in fields)))
    return result


# What the devices make: a method and a dtype.
DEVICE_KINDS = {
    "uint32": ("bits", "uint32"),
    "uint64": ("bits", "uint64"),
    "random": ("random", "float32"),
    "random float64": ("random", "float64"),
    "standard_normal": ("standard_normal", "float32"),
    "standard_normal float64": ("standard_normal", "float64"),
}


# Parameters that are arrays: of eight distributions, by broadcasting. Beside each the method of NumPy's `Generator` runs.
COLUMNS = {
    "normal": {"loc": [0.0, 50.0, 100.0], "scale": [[1.0], [15.0]]},
    "uniform": {"low": [-1.0, 0.0, 2.0], "high": [[3.0], [1e6]]},
    "exponential": {"scale": [[0.5, 1.0, 2.0], [4.0, 8.0, 16.0]]},
    "gamma": {"shape": [0.5, 2.5, 40.0], "scale": [[1.0], [3.0]]},
    "beta": {"a": [0.5, 2.0, 5.0], "b": [[0.5], [3.0]]},
    "poisson": {"lam": [[0.1, 4.0, 40.0], [5.0, 6.0, 7.0]]},
    "binomial": {"n": [5, 20, 1000], "p": [[0.3], [0.9]]},
    "integers": {"low": [0, -5, 10], "high": [[11], [1000]]},
}


def check_columns(elements, method, array, **keywords):
    """Element i is the number of `Elements` for the parameters at i; the shapes and errors are NumPy's."""
    import numpy as np

    from wellspring.random import Elements

    draw, name = getattr(elements, method), Elements(2026, "3/0/17")
    parameters = {key: np.array(value) for key, value in COLUMNS[method].items()}
    together = {key: array(value) for key, value in parameters.items()}
    numpys = getattr(np.random.default_rng(5), method)
    for size in (None, (2, 3), (4, 2, 3)):
        made = np.asarray(draw(**together, size=size, **keywords))
        expected = numpys(**parameters, size=size)
        assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
        each = {key: np.broadcast_to(value, made.shape) for key, value in parameters.items()}
        for i, place in enumerate(np.ndindex(made.shape)):
            own = {key: value[place].item() for key, value in each.items()}
            assert made[place] == getattr(name, method)(**own, first=i), (i, own)
    single = {key: value.flat[0].item() for key, value in parameters.items()}
    assert np.asarray(draw(**single, size=1, **keywords)).item() == getattr(name, method)(**single)
    unequal = {key: array(np.ones(length, int)) for key, length in zip(parameters, (2, 3), strict=False)}
    for call in (functools.partial(draw, **keywords), numpys):
        with pytest.raises(ValueError):
            call(**parameters, size=(3, 2))
        if len(unequal) == 2:
            with pytest.raises(ValueError):
                call(**unequal)


def numbers_of_the_cpu(kind, size, first=0, seed=2026, path="3/0/17", **keywords):
    """What `wellspring.random.Elements` makes; words are the bytes of its stream."""
    import numpy as np

    from wellspring.random import Elements

    name, (method, dtype) = Elements(seed, path), DEVICE_KINDS[kind]
    if method != "bits":
        return getattr(name, method)(size, dtype, first=first, **keywords)
    width = int(dtype[4:]) // 8
    words = name.bytes(width * int(np.prod(size)), first=width * first)
    return np.frombuffer(words, f"<u{width}").reshape(size)


def assert_same_bits(left, right):
    import numpy as np

    left = np.asarray(left)
    assert left.dtype == right.dtype and left.shape == right.shape
    assert left.tobytes() == right.tobytes()


def programs_of(document):
    """The Python programs of a document, by the title of their section."""
    sections = (VECTORS.parent / document).read_text().split("\n## ")
    return {text.splitlines()[0]: re.findall(r"```python\n(.*?)```", text, re.DOTALL) for text in sections}
