"""Parts of the overview that are kept from one look to the next: what is on screen is what would be drawn anew."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.random_overviews import device_usages
from tests.support.simulated.sights import a_history, an_overview
from ttmem.monitor.screens import overview as screen
from ttmem.monitor.screens.chips import cards, cells
from ttmem.monitor.screens.chips.kept import Kept
from ttmem.monitor.screens.frame import Frame, Look
from ttmem.snapshot.usage import DeviceUsage
from ttmem.snapshot.values import replace

SIZES = {"card": (160, 50), "pair": (120, 20), "line": (120, 8)}


def forget() -> None:
    """All that was kept."""
    found = [value for module in (screen, cards, cells) for value in vars(module).values() if isinstance(value, Kept)]
    assert len(found) >= 5
    for kept in found:
        kept._made.clear()


def mixed(one: DeviceUsage, other: DeviceUsage) -> Iterator[DeviceUsage]:
    """The one with ever one thing of the other."""
    yield other
    for name in one.__struct_fields__:
        yield replace(one, **{name: getattr(other, name)})


@pytest.mark.parametrize("form", SIZES)
@settings(max_examples=4)
@given(device_usages(1), st.booleans(), st.sampled_from([None, 0, 1]))
def test_whatever_changes_of_a_chip_is_on_screen(
    form: str, other: DeviceUsage, has_history: bool, cursor: int | None
) -> None:
    before = an_overview(4, 1)
    look = Look(*SIZES[form])
    history = a_history(before) if has_history else None
    for usage in mixed(before.devices[1], other):
        if usage.device.number != 1:
            continue
        after = replace(before, devices=(before.devices[0], usage, *before.devices[2:]))
        screen.draw(Frame(overview=before, history=a_history(before)), look, screen.State(1))

        kept = screen.draw(Frame(overview=after, history=history), look, screen.State(cursor))

        forget()
        assert kept == screen.draw(Frame(overview=after, history=history), look, screen.State(cursor))


def test_a_part_that_did_not_change_is_the_same_line_as_before() -> None:
    look, overview = Look(*SIZES["card"]), an_overview(4, 1)
    first = screen.draw(Frame(overview=overview, history=a_history(overview, 30)), look, screen.State())
    second = screen.draw(Frame(overview=overview, history=a_history(overview, 31)), look, screen.State())

    same = [one is other for one, other in zip(first.lines, second.lines, strict=True)]

    assert 10 < sum(same) < len(same)  # all but the courses
