"""What the model's tests share: nothing is compiled when one begins, as in a process of its own."""

import pytest

from ttmem import metal


@pytest.fixture(autouse=True)
def nothing_is_compiled() -> None:
    metal.clear_kernel_cache()
