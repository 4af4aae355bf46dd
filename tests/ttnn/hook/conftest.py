"""Processes of the stock runtime with the hook in them; those of one board are started once and used by many tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.stock import RELEASE, NotThere, Stock, installed


def stock_of(release: str) -> Stock:
    """A release that a test asks for; skipped in one loud line where it is not installed."""
    try:
        return installed(release)
    except NotThere as missing:
        pytest.skip(f"NOT COMPARED WITH THE STOCK RUNTIME: {missing}")


@pytest.fixture(scope="session")
def hooked_of(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedHooked]:
    """`hooked_of("n300")`: a process with nothing open; the same as last time, if that one is still fit for use.

    A test that is about another release, or about several, names it: `hooked_of("n300", release="0.78.0")`."""
    started: list[Hooked] = []
    current: dict[tuple[str, str, frozenset[tuple[str, Any]]], Hooked] = {}

    def hooked_of(board: str, *, release: str = RELEASE, **how: Any) -> Hooked:
        key = (board, release, frozenset(how.items()))
        if key not in current or not current[key].runtime.is_idle:
            installed_there = stock if release == RELEASE else stock_of(release)
            directory = tmp_path_factory.mktemp(f"hooked-{board}")
            current[key] = Hooked.started(installed_there, directory, board, **how)
            started.append(current[key])
        return current[key]

    yield hooked_of
    for hooked in started:
        hooked.stop()
