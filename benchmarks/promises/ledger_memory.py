"""Promise: a live allocation takes at most 96 bytes in the collector, as resident memory at one million alive.

The growth is the difference between two collectors, one of a process with a million allocations and one of a
process with a single one. The baseline is the same difference in the old design's server.
"""

import time
from collections.abc import Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import collector, older_puppet, older_server, puppet
from benchmarks.stage.setting import Setting

LIVE = 1_000_000
CHURN = "bursts 4 49152 20000"
SETTLE_SECONDS = 30


def measure(setting: Setting) -> Iterator[Row]:
    growth = _collector_bytes(setting, LIVE) - _collector_bytes(setting, 1)
    sent = _server_bytes(setting, LIVE) - _server_bytes(setting, 1)
    yield row("1,000,000 live", growth / LIVE, "B each", target="<= 96", baseline=sent / LIVE)


def _collector_bytes(setting: Setting, live_count: int) -> int:
    with (
        setting.fresh_directory() as own,
        puppet(own, live_count, TTMEM_TABLE="1048576") as (writer, _),
        collector(own) as reader,
    ):
        writer.ask(CHURN)
        deadline = time.monotonic() + SETTLE_SECONDS
        while int(reader.ask("counts").split()[2]) != live_count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the collector did not come to {live_count:,} allocations")
            time.sleep(0.01)
        return reader.resident_bytes()


def _server_bytes(setting: Setting, live_count: int) -> int:
    with (
        setting.fresh_directory() as own,
        older_server(own) as (server, socket_path),
        older_puppet(own, live_count, socket_path),
    ):
        return server.resident_bytes()
