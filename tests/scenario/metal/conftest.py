"""What stories of the runtime model share: a journal, a tracker, and the example of docs/understanding/rules.md."""

from collections.abc import Iterator

import pytest

from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from ttmem import GraphTracker, metal


@pytest.fixture(autouse=True)
def nothing_is_compiled() -> None:
    """As in a process of its own."""
    metal.clear_kernel_cache()


@pytest.fixture
def journal() -> Iterator[OwnJournal]:
    with an_own_journal() as one:
        yield one


@pytest.fixture
def tracker(journal: OwnJournal) -> Iterator[GraphTracker]:
    with GraphTracker() as one:
        yield one
        assert one.fault_count == 0
