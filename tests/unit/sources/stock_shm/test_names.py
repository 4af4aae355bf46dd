"""Which files are regions, by their names alone."""

import re

from hypothesis import given
from hypothesis import strategies as st

from ttmem.sources.directories import region_number

PARTS = st.sampled_from(["tt_device_", "_memory", "0", "7", "12345678901234567890", "x", "", "\n"])


@given(st.lists(PARTS, max_size=5).map("".join))
def test_a_name_is_a_prefix_up_to_twenty_digits_and_a_suffix(name: str) -> None:
    match = re.fullmatch(r"tt_device_(\d{1,20})_memory", name)

    assert region_number(name) == (int(match[1]) if match else None)


def test_the_highest_number_is_one() -> None:
    assert region_number(f"tt_device_{(1 << 64) - 1}_memory") == (1 << 64) - 1
