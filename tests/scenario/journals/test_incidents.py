"""What was refused is kept in the journal: told by the Python client and by the runtime model, read from the file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.journal_file import incidents
from tests.support.processes.children import Actor
from ttmem.devices import Pool
from ttmem.tracking import RefusalKind

UNKNOWN = (1 << 64) - 1
MIB = 1 << 20
OF_TEXT, PER_CORE = 4, 8

MODEL = """
import ttmem
from ttmem import metal
from ttmem.devices import BufferType
from ttmem.metal import BufferSpec, CoreRanges, MeshWorkload, Program

device = metal.open_device("n150", tracker=ttmem.GraphTracker())
held = device.create_buffer(BufferSpec(64 * 1_200_000, 1_200_000, BufferType.L1))
said = []

def refused(call):
    try:
        call()
    except metal.MetalError as refusal:
        said.append(str(refusal))

def clash():
    program = Program()
    program.add_circular_buffer(CoreRanges.grid(8, 8), 1_000_000)
    metal.enqueue(device, MeshWorkload(program))
"""


@pytest.fixture
def actor(journals: Path) -> Iterator[Actor]:
    with Actor(journals) as actor:
        actor.do("import ttmem")
        yield actor


def test_an_incident_that_a_program_shows_outlives_it(actor: Actor) -> None:
    actor.do("chip = ttmem.open_device(7); ttmem.report_buffer_alloc(chip, 41, 4096)")
    actor.do("tell = dict(requested_bytes=10, per_bank_bytes=5, bank_count=2, text='no r\\u00f6\\u00f6m')")
    actor.do("client = ttmem.Client(); client.report_incident(chip, 1, 0, **tell)")
    actor.do("ttmem.report_incident(chip, 2, 2, program=3, cb_end_address=0x9000, buffer_address=0x8000, options=8)")
    path = actor.journal
    actor.kill()

    count, [first, second] = incidents(path)
    assert count == 2
    assert first[1:5] == (RefusalKind.OUT_OF_MEMORY.number, Pool.DRAM.number, 1, 0)
    figures = [first.figures[name] for name in ("requested", "per_bank", "banks", "free", "bank_largest")]
    assert (figures, first.text, first.entry_ids) == ([10, 5, 2, UNKNOWN, UNKNOWN], "no rööm", [41])
    assert second[1:5] == (RefusalKind.CLASH.number, Pool.L1.number, 1, PER_CORE)
    assert [second.figures[name] for name in ("program", "cb_end", "lowest_buffer")] == [3, 0x9000, 0x8000]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("ttmem.report_incident(chip, 1)", "positional"),
        ("ttmem.report_incident(chip, 1, 0, size=3)", "unexpected keyword argument 'size'"),
        ("ttmem.report_incident(chip, 1, 0, text=3)", "text must be a str"),
        ("ttmem.report_incident(chip, 1, 0, program='x')", "int"),
    ],
)
def test_a_wrong_call_is_said_as_such(actor: Actor, wrong: str, words: str) -> None:
    actor.do("chip = ttmem.open_device(7)")
    actor.do(f"try:\n    {wrong}\n    said = ''\nexcept TypeError as error:\n    said = str(error)")
    assert words in actor.ask("said")


def test_the_model_shows_a_refusal_in_the_runtimes_words_and_figures(actor: Actor) -> None:
    actor.do(MODEL)
    actor.do("refused(lambda: device.create_buffer(BufferSpec(64 * 400_000, 400_000, BufferType.L1)))")
    lowest, base = actor.ask("[device.allocator.lowest_l1_address, device.architecture.l1_unreserved_base]")
    [text] = actor.ask("said")
    path = actor.journal
    actor.kill()

    count, [kept] = incidents(path)
    assert (count, kept.kind, kept.pool, kept.flags) == (1, RefusalKind.OUT_OF_MEMORY.number, Pool.L1.number, OF_TEXT)
    assert kept.text == text
    figures = kept.figures
    assert f"allocate {figures['requested']} B L1 buffer across {figures['banks']} banks" in text
    assert f"needs to store {figures['per_bank']} B" in text
    assert f"free: {figures['bank_free']} B, largest free block: {figures['bank_largest']} B" in text
    assert f"bank size is {figures['space_end'] - figures['space_begin']} B" in text
    assert (figures["free"], figures["largest"]) == (figures["bank_free"] * 64, figures["bank_largest"] * 64)
    assert (figures["space_begin"], figures["lowest_buffer"]) == (base, lowest)
    assert len(kept.entry_ids) == 1


def test_the_model_shows_a_clash_as_a_clash(actor: Actor) -> None:
    actor.do(MODEL + "refused(clash)")
    lowest, base = actor.ask("[device.allocator.lowest_l1_address, device.architecture.l1_unreserved_base]")
    [text] = actor.ask("said")
    path = actor.journal
    actor.kill()

    count, [kept] = incidents(path)
    assert (count, kept.kind, kept.pool, kept.text) == (1, RefusalKind.CLASH.number, Pool.L1.number, text)
    assert "clash with L1 buffers" in text
    assert (kept.figures["cb_end"], kept.figures["lowest_buffer"]) == (base + 1_000_000, lowest)
    assert kept.figures["program"] > 0
    assert kept.figures["other_site_and_cores"] >> 32  # the text that names the cores


def test_threads_that_are_refused_at_once_have_each_their_own(actor: Actor) -> None:
    actor.do(MODEL)
    actor.do(
        "import threading\n"
        "together = threading.Barrier(4)\n"
        "def ask(n):\n"
        "    together.wait()\n"
        "    refused(lambda: device.create_buffer(BufferSpec(64 * n * 1_000_000, n * 1_000_000, BufferType.L1)))\n"
        "threads = [threading.Thread(target=ask, args=[n]) for n in range(2, 6)]\n"
        "[one.start() for one in threads]; [one.join() for one in threads]"
    )
    texts = actor.ask("said")
    path = actor.journal
    actor.kill()

    count, kept = incidents(path)
    assert (count, [one.number for one in kept]) == (4, [1, 2, 3, 4])
    assert sorted(one.text for one in kept) == sorted(texts)
    assert len({one.figures["place"] >> 32 & 0xFFFF for one in kept}) == 4  # threads


def test_a_journal_without_incidents_takes_no_more_than_before(actor: Actor) -> None:
    actor.do("chip = ttmem.open_device(7); ttmem.report_buffer_alloc(chip, 41, 4096)")
    taken = actor.journal.stat().st_blocks * 512
    actor.do("ttmem.report_incident(chip, 1, 0)")
    with_one = actor.journal.stat().st_blocks * 512

    assert taken < 15.7 * MIB
    assert taken <= with_one <= taken + 64 * 1024
    assert 4 * taken < 64 * MIB
