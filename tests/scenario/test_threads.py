"""Many threads at once: their figures add up to the byte, whoever is stopped in the middle of whatever."""

from pathlib import Path

import pytest

from tests.support.journals import journal_file
from tests.support.journals.watching import Watch
from tests.support.processes.children import Freezer, Writer
from tests.support.processes.native_programs import NativePrograms
from tests.support.processes.writer_log import differences, unexpected_findings, wrong_totals

CHIP, OTHER_CHIP = 0x1A2B, 0x3C4D


@pytest.mark.parametrize("ring", ["64", "65536"])
def test_eight_threads_at_once_are_counted_to_the_byte(programs: NativePrograms, journals: Path, ring: str) -> None:
    with Writer(programs, journals, threads=8, TTMEM_RING=ring) as writer, Watch(journals, follows=True) as watch:
        chip, other = writer.ask(f"open {CHIP}"), writer.ask(f"open {OTHER_CHIP}")
        mesh = writer.ask(f"mesh 7 {chip} {other}")
        for _ in range(3):
            writer.churn(chip, mesh)
            writer.work(100_000)
            writer.pause()
            rows = watch.come_to_rest()
            [row] = rows["processes"]

            assert differences(writer.log, rows, watch.allocations(row["key"]), row["key"]) == []
            assert unexpected_findings(row) == set()


@pytest.mark.parametrize("ring", ["256", "1048576"])
def test_threads_that_fight_over_the_same_ids_leave_one_truth(
    programs: NativePrograms, journals: Path, ring: str
) -> None:
    """Counters, live state, the ledger that followed and one that comes late all say the same."""
    with Writer(programs, journals, threads=8, TTMEM_RING=ring) as writer, Watch(journals, follows=True) as watch:
        writer.churn(writer.ask(f"open {CHIP}"), mode="shared")
        writer.work(400_000)
        writer.pause()
        rows = watch.come_to_rest()
        [row] = rows["processes"]
        with Watch(journals) as late:
            late_rows = late.come_to_rest()
            [late_row] = late_rows["processes"]
            late_list = late.list_of(late_row["key"])
        entries = journal_file.live_entries(writer.journal)
        held = journal_file.counters(writer.journal)
        followed = watch.list_of(row["key"])

        assert {place: amount for place, amount in held.items() if amount.entries} == journal_file.sums(entries)
        assert all(amount.used_bytes >= 0 and amount.entries >= 0 for amount in held.values())
        assert len({(entry.kind, entry.id) for entry in entries}) == len(entries)
        assert [(kind, id, size) for _, kind, id, _, _, size, *_ in followed] == sorted(
            (entry.kind, entry.id, entry.reserved_bytes) for entry in entries
        )
        assert followed == late_list
        assert wrong_totals(rows, followed, row["key"]) == []
        mistakes = {"replaced", "shrunk_kernel", "unknown_free", "double_free"}  # theirs; there is no other target
        assert (row["findings"].keys() | late_row["findings"].keys()) - mistakes == set()


@pytest.mark.parametrize("ring", ["256", "65536"])
def test_a_thread_stopped_in_the_middle_of_whatever_harms_no_process(
    programs: NativePrograms, journals: Path, ring: str
) -> None:
    """The others go on, lap it, and stay exact; only its own unfinished call is open. Afterwards all is exact."""
    with Writer(programs, journals, threads=3, TTMEM_RING=ring) as writer, Watch(journals, follows=True) as watch:
        chip = writer.ask(f"open {CHIP}")
        writer.churn(chip)
        for number in range(6):
            writer.churn()
            writer.work(1000)
            with Freezer(programs, writer.thread_ids()[number % 3]):
                writer.work(20_000)
                writer.pause(2)
                rows = watch.come_to_rest()
                [row] = rows["processes"]

                assert differences(writer.log, rows, watch.allocations(row["key"]), row["key"]) == []
            writer.pause()
            rows = watch.come_to_rest()
            [row] = rows["processes"]

            assert differences(writer.log, rows, watch.allocations(row["key"]), row["key"]) == []
            assert unexpected_findings(row) == set()
