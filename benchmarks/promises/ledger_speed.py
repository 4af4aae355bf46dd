"""Promise: a collector drains and applies at least 10 M events per CPU-second, 1 M where targets are meshes of 32.

A reporting process makes a burst that fits its ring and waits; then one drain is timed. The baseline is the old
design's server: messages applied per second of its own CPU time.
"""

import statistics
import time
from collections.abc import Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, older_puppet, older_server, puppet
from benchmarks.stage.collecting import attach
from benchmarks.stage.setting import Setting
from ttmem._native import Ledger

BURST_EVENTS = 49_152
SENT_EVENTS = 40_000
LIVE_COUNTS = (1_000, 100_000, 1_000_000)


def measure(setting: Setting) -> Iterator[Row]:
    for live_count in LIVE_COUNTS:
        sent = _messages_per_second(setting, live_count)
        for chip_count, target in ((1, ">= 10"), (32, ">= 1")):
            place = "1 chip" if chip_count == 1 else f"mesh of {chip_count}"
            rate = _events_per_second(setting, live_count, chip_count)
            yield row(f"{live_count:,} live, {place}", rate / 1e6, "M/s", target=target, baseline=sent / 1e6)


def _events_per_second(setting: Setting, live_count: int, chip_count: int) -> float:
    table = str(max(131_072, 1 << live_count.bit_length()))
    with (
        setting.fresh_directory() as own,
        puppet(own, live_count, chip_count=chip_count, TTMEM_TABLE=table) as (writer, journal),
    ):
        ledger = Ledger()
        attach(ledger, journal)
        ledger.drain()
        rates = []
        for _ in range(setting.repeats(41, 3)):
            writer.ask(f"bursts 1 {BURST_EVENTS} 0")
            rates.append(_timed_drain(ledger))
        return statistics.median(rates[1:])


def _timed_drain(ledger: Ledger) -> float:
    began = time.process_time_ns()
    applied = 0
    while applied < BURST_EVENTS:
        count = ledger.drain()
        if count == 0:
            raise RuntimeError(f"the ledger applied {applied:,} of {BURST_EVENTS:,} events")
        applied += count
    return applied * 1e9 / (time.process_time_ns() - began)


def _messages_per_second(setting: Setting, live_count: int) -> float:
    with (
        setting.fresh_directory() as own,
        older_server(own) as (server, socket_path),
        older_puppet(own, live_count, socket_path) as writer,
    ):
        return statistics.median(_sent_rate(server, writer) for _ in range(setting.repeats(9)))


def _sent_rate(server: Actor, writer: Actor) -> float:
    began = server.cpu_seconds()
    writer.ask(f"bursts 1 {SENT_EVENTS} 0")
    return SENT_EVENTS / (server.cpu_seconds() - began)
