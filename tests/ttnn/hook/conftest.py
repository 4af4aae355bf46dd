"""Processes of the stock runtime with the hook in them; those of one board are started once and used by many tests."""

from collections.abc import Iterator

import pytest

from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.stock import Stock


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "hook":
            item.add_marker(pytest.mark.timeout(120))


@pytest.fixture(scope="session")
def hooked_of(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedHooked]:
    """`hooked_of("n300")`: a process with nothing open; the same as last time, if that one is still fit for use."""
    started: list[Hooked] = []
    current: dict[tuple[str, frozenset[tuple[str, bool]]], Hooked] = {}

    def hooked_of(board: str, **how: bool) -> Hooked:
        key = (board, frozenset(how.items()))
        if key not in current or not current[key].runtime.is_idle:
            current[key] = Hooked.started(stock, tmp_path_factory.mktemp(f"hooked-{board}"), board, **how)
            started.append(current[key])
        return current[key]

    yield hooked_of
    for hooked in started:
        hooked.stop()
