"""Promise: recording costs the recorder at most 30 ns per event beside reading it, and at most 5 bytes on disk in the
demo's workloads; of 10 million events `ttmem report` finds peaks, or any moment, in 0.3 s of CPU and 100 MB of memory.

What recording costs is the CPU time in which a ledger reads and applies bursts with a recorder listening, less that
without; bursts of both take turns. Reports are whole commands, with the start of Python; `alone` is `ttmem --version`.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, puppet
from benchmarks.stage.build import ROOT
from benchmarks.stage.collecting import attach
from benchmarks.stage.commands import cost_of
from benchmarks.stage.setting import Setting
from ttmem._native import Ledger
from ttmem.recording import Meta, Recording, RecordingWriter

RING = str(1 << 18)
BURST = 100_000
LIVE_COUNTS = (1_000, 50_000)
EVENTS = 10_000_000
WORKLOADS = {"llama-8b": 20, "leaky": 200, "resnet-trace": 200, "cache-growth": 600, "galaxy-70b": 20}


def measure(setting: Setting) -> Iterator[Row]:
    for live_count in LIVE_COUNTS:
        yield row(f"an event, {live_count:,} alive", _cost_of_event(setting, live_count), "ns", target="<= 30")
    for name, rounds in WORKLOADS.items():
        yield row(f"an event of {name}", _bytes_of_event(setting, name, rounds), "B", target="<= 5")
    yield from _reports(setting)


class _Reading:
    """A ledger that reads a process of its own, with a recorder or without."""

    def __init__(self, setting: Setting, stack: ExitStack, live_count: int, path: Path | None) -> None:
        self.ledger = Ledger()
        self.recorder = RecordingWriter(path, self.ledger, meta=Meta()) if path else None
        own = stack.enter_context(setting.fresh_directory())
        self.writer: Actor
        self.writer, journal = stack.enter_context(puppet(own, live_count, TTMEM_RING=RING))
        attach(self.ledger, journal)
        self.ledger.drain()

    def burst(self) -> float:
        """CPU ns for an event."""
        self.writer.ask(f"bursts 1 {BURST} 0")
        began, applied = time.process_time_ns(), 0
        while applied < BURST:
            applied += self.ledger.drain()
        if self.recorder is not None:
            self.recorder.flush()
        return (time.process_time_ns() - began) / BURST


def _cost_of_event(setting: Setting, live_count: int) -> float:
    with setting.fresh_directory() as own, ExitStack() as stack:
        path = own.directory / "cost.ttmem"
        recorded, plain = _Reading(own, stack, live_count, path), _Reading(own, stack, live_count, None)
        costs = [recorded.burst() - plain.burst() for _ in range(setting.repeats(61, 3))]
        return statistics.median(costs)


def _bytes_of_event(setting: Setting, name: str, rounds: int) -> float:
    with setting.fresh_directory() as own:
        path = own.directory / "workload.ttmem"
        program = [sys.executable, "-m", "benchmarks.stage.workload", name, str(setting.repeats(rounds))]
        command = [sys.executable, "-m", "ttmem", "record", "-o", str(path), "--", *program]
        subprocess.run(command, env=own.environment(), cwd=ROOT, check=True, capture_output=True)
        recording = Recording(path)
        return recording.size_bytes / recording.row_count


def _reports(setting: Setting) -> Iterator[Row]:
    with setting.fresh_directory() as own, ExitStack() as stack:
        path = own.directory / "long.ttmem"
        reading = _Reading(own, stack, 10_000, path)
        assert reading.recorder is not None
        for _ in range(setting.repeats(EVENTS // BURST, 3)):
            reading.burst()
        reading.recorder.close()
        recording = Recording(path)
        middle = f"+{(recording.last_ns - recording.first_ns) / 2e9:.3f}s"
        yield row(f"{recording.row_count:,} events", recording.size_bytes / recording.row_count, "B/event")
        for words in (["report", str(path)], ["report", str(path), "--at", middle], ["--version"]):
            cost = cost_of(own, [sys.executable, "-m", "ttmem", *words])
            is_report = words[0] == "report"
            name = (
                "a moment in the middle" if "--at" in words else "peaks, and what was alive" if is_report else "alone"
            )
            yield row(f"{name}: CPU", cost.seconds, "s", target="<= 0.3" if is_report else None)
            yield row(f"{name}: memory", cost.resident_bytes / 1e6, "MB", target="<= 100" if is_report else None)
