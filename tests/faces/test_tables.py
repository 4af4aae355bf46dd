"""What scripts get, as stored files: JSON, CSV, the report, the list of chips and the older monitor's blocks.

After a wanted change: UPDATE_GOLDEN=1 ./run test tests/faces, then read the difference.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.machine.driver_chips import a_driver_chip, some_driver_chips
from tests.support.simulated.figures import (
    GIB,
    KIB,
    MIB,
    NOON_NS,
    a_busy_snapshot,
    a_device,
    a_process,
    a_server_snapshot,
    a_snapshot,
)
from tests.support.simulated.read_figures import a_read_snapshot
from tests.support.tracked.scripts import script_differences
from ttmem.cli.common.request import Request, query
from ttmem.devices import Pool
from ttmem.errors import SelectionError
from ttmem.figures.source import FigureSource
from ttmem.snapshot import Snapshot, replace
from ttmem.snapshot.codec import encoded
from ttmem.snapshot.identity import open_count_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.tracking import KernelType
from ttmem.view import plain
from ttmem.view.pages.device_list import device_list
from ttmem.view.pages.older_monitor import older_monitor
from ttmem.view.pages.report import report
from ttmem.view.pages.smi import smi_document
from ttmem.view.queries import (
    APP_FIELDS,
    MEMORY_FIELDS,
    CsvForm,
    app_rows,
    chosen_fields,
    csv_header,
    csv_line,
    field_list,
    memory_rows,
)

GOLDEN = Path(__file__).parent / "golden"
CHIPS = some_driver_chips()
SNAPSHOTS: dict[str, Callable[[], Snapshot]] = {
    "busy": a_busy_snapshot,
    "server-chips": a_server_snapshot,
    "read": a_read_snapshot,
}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def assert_as_stored(name: str, text: str) -> None:
    stored = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        stored.write_text(text, encoding="utf-8")

    assert text == stored.read_text(encoding="utf-8")


def memory_csv(snapshot: Snapshot, names: str, form: str = "csv") -> str:
    question, csv = chosen_fields(names, MEMORY_FIELDS), CsvForm.from_text(form)
    header = [csv_header(question, csv)] if csv.has_header else []
    return "".join(
        f"{line}\n" for line in [*header, *(csv_line(question, row, csv) for row in memory_rows(snapshot, CHIPS))]
    )


def app_csv(snapshot: Snapshot, names: str, form: str = "csv") -> str:
    question, csv = chosen_fields(names, APP_FIELDS), CsvForm.from_text(form)
    header = [csv_header(question, csv)] if csv.has_header else []
    rows = app_rows(snapshot, snapshot.live, CHIPS)
    return "".join(f"{line}\n" for line in [*header, *(csv_line(question, row, csv) for row in rows)])


EVERY_MEMORY_FIELD = ",".join(field.name for field in MEMORY_FIELDS)
EVERY_APP_FIELD = ",".join(field.name for field in APP_FIELDS)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_json_looks_as_it_did(name: str) -> None:
    assert_as_stored(
        f"snapshot-{name}.json", encoded(smi_document(SNAPSHOTS[name](), CHIPS), is_pretty=True).decode() + "\n"
    )


@pytest.mark.parametrize("name", SNAPSHOTS)
@pytest.mark.parametrize("form", ["csv", "csv,noheader,nounits"])
def test_csv_looks_as_it_did(name: str, form: str) -> None:
    file = f"{name}-{form.replace(',', '-')}"

    assert_as_stored(f"query-mem-{file}.txt", memory_csv(SNAPSHOTS[name](), EVERY_MEMORY_FIELD, form))
    assert_as_stored(f"query-apps-{file}.txt", app_csv(SNAPSHOTS[name](), EVERY_APP_FIELD, form))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_the_report_looks_as_it_did(name: str) -> None:
    snapshot = SNAPSHOTS[name]()

    assert_as_stored(f"report-{name}.txt", plain(report(snapshot, snapshot.live, CHIPS)))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_list_and_blocks_look_as_they_did(name: str) -> None:
    snapshot = SNAPSHOTS[name]()

    assert_as_stored(f"list-{name}.txt", plain(device_list(snapshot, CHIPS, width=None)))
    assert_as_stored(f"blocks-{name}.txt", older_monitor(snapshot))


def test_the_lists_of_fields_look_as_they_did() -> None:
    assert_as_stored("help-query-mem.txt", plain(field_list(MEMORY_FIELDS, width=None)))
    assert_as_stored("help-query-apps.txt", plain(field_list(APP_FIELDS, width=None)))


def test_the_list_names_chips_of_the_driver_that_may_be_one_of_it() -> None:
    text = plain(device_list(a_busy_snapshot(), CHIPS, [a_driver_chip(4)], width=None))

    assert text.endswith(
        "\n\n /dev/tenstorrent/4 (n300 at 0000:05:00.0) is one of these; the driver does not say which.\n"
    )


class Seen(FigureSource):
    """The made-up snapshot, of whose second chip the driver knows nothing."""

    def __init__(self, *chips: ChipTelemetry) -> None:
        super().__init__({}, uid=0)
        self._chips = chips

    def telemetry(self) -> tuple[ChipTelemetry, ...]:
        return self._chips

    def snapshot(self) -> Snapshot:
        return a_busy_snapshot()


def test_a_chip_that_was_never_opened_is_listed_though_another_is_ambiguous() -> None:
    first, idle = CHIPS
    may_be = a_driver_chip(4, asic_id=None, pids=(4001,))
    seen = query(Seen(first, idle, may_be), Request(), has_identity=True)

    assert [usage.device.unique_id for usage in seen.chosen.devices][-1] == idle.asic_id
    assert len(seen.chosen.devices) == len(a_busy_snapshot().devices) + 1
    assert seen.nameless == [may_be]


def test_csv_is_that_of_nvidia_smi_byte_for_byte() -> None:
    names = "index, dram.used,memory.total,pci.bus_id"

    assert memory_csv(a_busy_snapshot(), names) == (
        "index, dram.used [MiB], memory.total [MiB], pci.bus_id\n"
        "0, 9216 MiB, 12288 MiB, 0000:01:00.0\n"
        "1, 6144 MiB, 12288 MiB, [N/A]\n"
        "[N/A], 0 MiB, [N/A], [N/A]\n"
    )
    assert memory_csv(a_busy_snapshot(), names, "csv,noheader,nounits").startswith("0, 9216, 12288, 0000:01:00.0\n1, ")


def test_a_byte_more_or_less_shows_where_a_unit_is_full() -> None:
    def used(size_bytes: int) -> str:
        pools = [(0, 0, size_bytes, size_bytes, 1, size_bytes, NOON_NS, NOON_NS, False)]
        return memory_csv(a_snapshot(devices=[a_device(0)], device_pools=pools), "dram.used", "csv,noheader")

    assert (used(MIB - 1), used(MIB), used(2 * MIB - 1)) == ("0 MiB\n", "1 MiB\n", "1 MiB\n")


def test_what_is_not_reported_is_not_0() -> None:
    _, *of_others = memory_csv(a_read_snapshot(), "l1.kernel,dram.reserved,dram.total", "csv,noheader").splitlines()

    assert of_others == ["[N/A], [N/A], [N/A]"] * 2


def test_a_chip_on_which_nothing_was_ever_held_has_0_used_and_all_of_it_free() -> None:
    idle = a_snapshot(devices=[a_device(0)])

    assert memory_csv(idle, "dram.used,dram.free,l1.buffers", "csv,noheader") == "0 MiB, 12288 MiB, 0 KiB\n"
    assert memory_csv(idle, "dram.peak,dram.largest_free", "csv,noheader") == "0 MiB, 12288 MiB\n"
    assert re.search(r"Planned +: 0 B\n +Resident +: 0 B\n", plain(report(idle, (), CHIPS)))
    [dram] = [pool for pool in smi_document(idle, CHIPS).device_info[0].ttmem.pools if pool.pool is Pool.DRAM]
    assert (dram.used_bytes, dram.free_bytes, dram.largest_free_bytes) == (0, 12 * GIB, 12 * GIB)


def test_what_is_not_counted_has_no_age_and_no_known_openers() -> None:
    chip = a_snapshot(devices=[a_device(0)]).devices[0]
    unknown = replace(chip, launch_count=None)

    assert (chip.age_ms, unknown.age_ms) == (0, None)
    assert open_count_of(replace(unknown, device=replace(chip.device, open_count=0)), ()) is None


@pytest.mark.parametrize("alias", [("memory.used", "dram.used"), ("memory.free", "dram.free"), ("gpu_uuid", "uuid")])
def test_an_alias_is_the_same_figure_under_the_name_it_was_asked_by(alias: tuple[str, str]) -> None:
    asked, meant = (memory_csv(a_busy_snapshot(), name) for name in alias)

    assert asked.replace(alias[0], alias[1], 1) == meant


@pytest.mark.parametrize(
    ("names", "words"),
    [("dram.usd", "no field 'dram.usd'; nearest: dram.used"), ("", "no field ''"), ("index,", "no field ''")],
)
def test_a_field_that_is_none_is_refused_with_the_nearest(names: str, words: str) -> None:
    with pytest.raises(SelectionError, match=re.escape(words)):
        chosen_fields(names, MEMORY_FIELDS)


@pytest.mark.parametrize("form", ["", "json", "csv,header", "noheader"])
def test_a_form_that_is_none_is_refused(form: str) -> None:
    with pytest.raises(SelectionError, match="expected csv"):
        CsvForm.from_text(form)


def test_a_name_with_a_comma_stays_one_cell() -> None:
    named = a_snapshot(
        devices=[a_device(0)],
        processes=[a_process(1, label='say "hi", twice', command="python x,y\n.py")],
        process_pools=[(1, 0, 0, MIB, MIB, 1, MIB, NOON_NS, False)],
    )

    assert app_csv(named, "label,command,dram", "csv,noheader") == '"say ""hi"", twice", "python x,y?.py", 1 MiB\n'


def test_the_block_of_the_server_protocol_is_printed_byte_for_byte() -> None:
    kernels = [(0, 6, 112 * KIB, 2, False), (0, 7, 92 * KIB, 2, False), (0, 5, 120 * KIB, 5, False)]
    circular_buffers = int(2.1 * MIB)
    snapshot = a_snapshot(
        devices=[
            a_device(0, arch="blackhole", kernel_ring_bytes=0, capacities=(0, 0, 306 * MIB, *[0] * 7)),
        ],
        device_pools=[(0, 4, circular_buffers, -1, 3, circular_buffers, NOON_NS, NOON_NS, False)],
        device_kinds=kernels,
    )

    assert older_monitor(snapshot) == (
        "Device 0 (Blackhole):\n"
        "  L1 Memory:\n"
        "    Buffers:        0.0B\n"
        "    CBs:            2.1 MB\n"
        "    Kernels:        324.0KB\n"
        "      - Fabric:     112 KB  (2 kernels)\n"
        "      - Dispatch:   92 KB   (2 kernels)\n"
        "      - Application: 120 KB (5 kernels)\n"
        "    Total:          2.4 MB / 306 MB\n"
    )


def test_blocks_of_no_devices_say_that_there_are_none() -> None:
    assert (
        older_monitor(a_snapshot(devices=[])) == "No devices: no program has reported one, and the driver shows none.\n"
    )


def test_stored_documents_are_whole() -> None:
    for name in SNAPSHOTS:
        stored = json.loads((GOLDEN / f"snapshot-{name}.json").read_text(encoding="utf-8"))
        assert stored["device_info"][0]["board_info"]["bus_id"] == "0000:01:00.0"


@pytest.mark.parametrize(
    ("name", "key", "size_bytes"),
    [
        ("used", Pool.DRAM, 9 * GIB - 1),
        ("used", Pool.L1, 81 * MIB - 1),
        ("used", Pool.TRACE, MIB),
        ("footprint", 0, 6 * MIB - 1),
        ("kernel_types", KernelType.FABRIC, 255_104 + KIB),
    ],
)
def test_a_figure_that_is_not_the_models_truth_is_found(name: str, key: Any, size_bytes: int) -> None:
    true: dict[str, Any] = {
        "used": {Pool.DRAM: 9 * GIB, Pool.L1: 81 * MIB},
        "footprint": {0: 6 * MIB},
        "kernel_types": {KernelType.APPLICATION: 917_504, KernelType.FABRIC: 255_104},
    }
    chip = 0x0100_0145_1170_3060
    assert script_differences(a_busy_snapshot(), {chip: true}) == []

    true[name][key] = size_bytes

    assert script_differences(a_busy_snapshot(), {chip: true})
