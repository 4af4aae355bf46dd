"""The stock runtime as judge: tests in this folder are marked `ttnn` and ask the wheel that `./run ttnn` installs.

`./run test` leaves them out, since the wheel is a download of 102 MB. Without it they are skipped, and say so.
"""

from pathlib import Path

import pytest

from tests.support.ttnn.stock import NotThere, Stock, installed

HERE = Path(__file__).parent


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
