"""What the tests have in common: their options, and the repository's vectors."""

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
