"""The words for chips and memory: numbers as in client.h, and nothing unknown is dropped."""

import operator
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.simulated.figures import a_device, a_snapshot
from ttmem.devices import BinaryStatus, BufferType, Kind, Pool, Word

CLIENT_H = (Path(__file__).parents[2] / "native" / "include" / "ttmem" / "client.h").read_text(encoding="utf-8")


def numbers_in(enum: str) -> dict[str, int]:
    """NAME -> number, as the C header has them."""
    [body] = re.findall(rf"enum {enum} {{(.*?)}};", CLIENT_H, flags=re.DOTALL)
    return {name: int(number) for name, number in re.findall(r"TTMEM_(\w+) = (\d+)", body)}


@pytest.mark.parametrize(
    ("enum", "words", "prefix"),
    [("ttmem_pool", Pool, "POOL_"), ("ttmem_kind", Kind, "KIND_"), ("ttmem_buffer_type", BufferType, "BUFFER_")],
)
def test_the_numbers_are_those_of_the_c_header(enum: str, words: type[Word | BufferType], prefix: str) -> None:
    in_c = {name.removeprefix(prefix): number for name, number in numbers_in(enum).items()}
    in_c.pop("COUNT", None)

    assert in_c == {word.name: operator.index(word) for word in words}


def test_the_binary_statuses_are_those_of_the_c_header() -> None:
    in_c = numbers_in("ttmem_binary_status")

    assert in_c == {status.name: status.number for status in BinaryStatus if status is not BinaryStatus.UNKNOWN}


def test_a_word_is_found_by_its_word_and_by_its_number() -> None:
    words: Any
    for words in (Pool, Kind, BinaryStatus):
        for word in words:
            assert words(word.word) is word
            assert words.numbered(word.number) is word
    assert sorted(Pool, reverse=True)[0] is Pool.UNKNOWN


def test_an_unlisted_number_becomes_unknown() -> None:
    assert Pool.numbered(77) is Pool.UNKNOWN
    assert Kind.numbered(77) is Kind.UNKNOWN
    assert BinaryStatus.numbered(7) is BinaryStatus.UNKNOWN


def test_a_capacity_that_was_not_reported_is_not_zero() -> None:
    [usage] = a_snapshot(devices=[a_device()]).devices

    assert usage.device.capacity(Pool.L1) == 85 << 20
    assert usage.device.capacity(Pool.L1_SMALL) is None


def test_only_kernels_are_kernels() -> None:
    assert {kind.kernel_word for kind in Kind if kind.is_kernel} == {"application", "fabric", "dispatch", "unknown"}
