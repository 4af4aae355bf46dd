"""A parent mesh and its submesh: two allocators of one process over one chip."""

import json
from pathlib import Path

import pytest

from tests.support.faces.json_documents import opened
from tests.support.journals.reporters import Nursery
from tests.support.simulated.whole_rows import check_overview
from ttmem._native import Ledger
from ttmem.cli.program import run_program

PER_BANK, BANKS, ADDRESS = 0x1000, 12, 0x100040
DRAM = 0
FACTS = ("wormhole_b0", "n300", (8, 8), (BANKS, 64), (0,) * 10, 0)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_parent_mesh_and_its_submesh_are_counted_once_and_both_named(
    nursery: Nursery,
    journals: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_late: bool,
) -> None:
    monkeypatch.setenv("TTMEM_DIR", str(journals))
    reporter = nursery.start(journals)
    chips = reporter.do(*[("open_device", 0x70 + chip, chip, *FACTS) for chip in range(2)])
    parent, part = reporter.do(("open_mesh", 1, 1, 2, chips), ("open_mesh", 2, 1, 1, chips[:1]))
    ledger = Ledger()
    if not is_late:
        reporter.attach_to(ledger)
    reporter.do(
        ("report_buffer_alloc", parent, 1, 6 * PER_BANK * BANKS, 0, ADDRESS, 6 * PER_BANK, DRAM),
        ("report_buffer_alloc", part, 2, 8 * PER_BANK * BANKS, 0, ADDRESS, 8 * PER_BANK, DRAM),
    )
    if is_late:
        reporter.attach_to(ledger)
    ledger.drain()
    check_overview(ledger)

    assert run_program(["ps", "--json"]) == 0
    document = opened(json.loads(capsys.readouterr().out))
    used = {chip["index"]: chip["memory"]["dram"]["used_bytes"] for chip in document["device_info"]}
    assert used == {0: 8 * PER_BANK * BANKS, 1: 6 * PER_BANK * BANKS}
    assert document["device_info"][0]["memory"]["dram"]["peak_bytes"] == 8 * PER_BANK * BANKS
    [finding] = document["findings"]
    assert (finding["name"], finding["pid"]) == ("overlap", reporter.pid)
    assert finding["text"] == (
        "mesh 1x2 (chips 0, 1) and mesh 1x1 (chip 0) both hold 294,912 bytes of dram from 0x100040 on, on chip 0: "
        "they overwrite each other"
    )
    run_program(["ps"])
    assert "both hold 294,912 bytes of dram" in " ".join(capsys.readouterr().out.split())

    reporter.do(("report_buffer_free", parent, 1))
    assert run_program(["ps", "--json"]) == 0
    document = opened(json.loads(capsys.readouterr().out))
    assert [chip["memory"]["dram"]["used_bytes"] for chip in document["device_info"]] == [8 * PER_BANK * BANKS, 0]
    assert document["findings"] == []
