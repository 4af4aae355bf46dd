"""The stock runtime as judge: tests in this folder are marked `ttnn` and ask the wheel that `./run test-ttnn` installs.

`./run test` leaves them out, since the wheel is a download of 102 MB. Without it they are skipped, and say so.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ttnn.runtime import Runtime, StartedRuntime
from tests.support.ttnn.stock import NotThere, Stock, installed

HERE = Path(__file__).parent
HYBRID = {"TT_METAL_ALLOCATOR_MODE_HYBRID": "1"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.ttnn)


@pytest.fixture(scope="session")
def stock() -> Stock:
    """The installed wheel: `stock.python` runs it, `stock.package` is its directory, `stock.metal_library` its core."""
    try:
        return installed()
    except NotThere as missing:
        pytest.skip(f"NOT COMPARED WITH THE STOCK RUNTIME: {missing}")


@pytest.fixture(scope="session")
def runtime_of(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedRuntime]:
    """The stock runtime on a board: `runtime_of("n300")`, started once and used by one test after the other."""
    started: list[Runtime] = []
    current: dict[tuple[str, bool, bool, str], Runtime] = {}

    def runtime_of(board: str, *, is_slow: bool = False, is_hybrid: bool = False, beside: str = "") -> Runtime:
        key = (board, is_slow, is_hybrid, beside)
        if key not in current or not current[key].is_idle:
            directory = tmp_path_factory.mktemp(f"runtime-{board}")
            settings = (HYBRID if is_hybrid else {}) | ({"LD_PRELOAD": beside} if beside else {})
            current[key] = Runtime.started(stock, directory, board, is_slow=is_slow, settings=settings)
            started.append(current[key])
        return current[key]

    yield runtime_of
    for runtime in started:
        runtime.stop()
