"""What the tests have in common: their options, and the repository's vectors."""

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
