"""Both languages agree on the bytes: every shared struct, field by field, and the numbers of every word."""

import re
from pathlib import Path

import pytest

from ttmem import _native
from ttmem.devices import BinaryStatus, BufferType, Kind, Pool
from ttmem.events import STRUCTS
from ttmem.wire import LAYOUTS, SIZES

NATIVE = Path(__file__).parents[2] / "native"
HEADER = (NATIVE / "include" / "ttmem" / "client.h").read_text(encoding="utf-8")
# The headers that draw shared structs; beside them are what packs several values into one word, and plain copies.
DRAWN = ("counters", "incident", "layout", "names", "record")
NOT_SHARED = {"Tag", "Words", "Sizes", "Plan", "ItemHead"}
PACKED = {"ItemWord", "NodeWord", "PhasePlace", "IncidentPlace", "SiteAndPhase", "OtherSiteAndCores"}
LAYOUT = "".join((NATIVE / "src" / "journal" / f"{name}.hpp").read_text(encoding="utf-8") for name in DRAWN)
CHECKPOINT = (NATIVE / "src" / "ledger" / "checkpoint.hpp").read_text(encoding="utf-8")


def as_plain(name: str) -> tuple[int, dict[str, tuple[int, int]]]:
    struct = STRUCTS[name]
    return struct.size_bytes, {field: (place.offset_bytes, place.size_bytes) for field, place in struct.fields.items()}


def enum_in(text: str, name: str) -> dict[str, int]:
    """The members of a C enum, by name, with their written values."""
    body = re.search(rf"enum (?:class )?{name}[^{{]*{{([^}}]*)}}", text)
    assert body, f"enum {name} is gone"
    return {member: int(value) for member, value in re.findall(r"(\w+) = (\d+)", body[1])}


SERVER_MESSAGES = {f"SeedMessage{size}": LAYOUTS[size] for size in SIZES}


def test_both_languages_know_the_same_structs() -> None:
    assert set(_native.layout()) == {*STRUCTS, *SERVER_MESSAGES}


@pytest.mark.parametrize("name", SERVER_MESSAGES)
def test_both_languages_lay_the_older_message_out_alike(name: str) -> None:
    layout = SERVER_MESSAGES[name]
    fields = {field: (place.offset_bytes, place.size_bytes) for field, place in layout.fields.items()}

    assert _native.layout()[name] == (layout.size_bytes, fields)


@pytest.mark.parametrize("name", STRUCTS)
def test_both_languages_lay_a_struct_out_alike(name: str) -> None:
    assert _native.layout()[name] == as_plain(name)


def test_every_struct_of_the_journal_and_the_checkpoint_is_compared() -> None:
    drawn = set(re.findall(r"^struct (\w+) {", LAYOUT + CHECKPOINT, flags=re.MULTILINE))

    assert drawn - NOT_SHARED - PACKED == set(_native.layout()) - set(SERVER_MESSAGES)


@pytest.mark.parametrize("name", STRUCTS)
def test_every_field_of_a_struct_is_compared(name: str) -> None:
    body = re.search(rf"^struct {name} {{(.*?)^}};", LAYOUT + CHECKPOINT, flags=re.MULTILINE | re.DOTALL)
    assert body
    code = re.sub(r"//[^\n]*", "", body[1])
    declared = re.findall(
        r"^\s*(?:Word|Half|u?int\d+_t|char|Identity|KindCounters|PoolCounters|RingCounters|CacheCounters) ([^;]+);",
        code,
        re.MULTILINE,
    )
    names = {re.sub(r"\[.*", "", part).strip() for line in declared for part in line.split(",")}

    assert {field for field in names if not field.startswith("pad")} == set(_native.layout()[name][1])


def test_pools_have_the_numbers_of_the_header() -> None:
    members = enum_in(HEADER, "ttmem_pool")

    assert members.pop("TTMEM_POOL_COUNT") == len(Pool)
    assert members.pop("TTMEM_POOL_UNKNOWN") == Pool.UNKNOWN.number
    assert members == {f"TTMEM_{pool.name}": pool.number for pool in Pool if pool is not Pool.UNKNOWN}


def test_kinds_have_the_numbers_of_the_header() -> None:
    members = enum_in(HEADER, "ttmem_kind")

    assert members.pop("TTMEM_KIND_COUNT") == len(Kind)
    assert members.pop("TTMEM_KIND_UNKNOWN") == Kind.UNKNOWN.number
    assert members == {f"TTMEM_{kind.name}": kind.number for kind in Kind if kind is not Kind.UNKNOWN}


def test_buffer_types_have_the_numbers_of_the_header() -> None:
    assert enum_in(HEADER, "ttmem_buffer_type") == {f"TTMEM_BUFFER_{type.name}": type for type in BufferType}


def test_statuses_have_the_numbers_of_the_header() -> None:
    known = [status for status in BinaryStatus if status is not BinaryStatus.UNKNOWN]

    assert enum_in(HEADER, "ttmem_binary_status") == {f"TTMEM_{status.name}": status.number for status in known}


def test_every_type_of_record_has_an_event() -> None:
    from ttmem.events import records

    types = enum_in(LAYOUT, "Type")
    events = {
        event.TYPE for event in vars(records).values() if isinstance(event, type) and issubclass(event, records.Event)
    }

    assert set(types.values()) == events
