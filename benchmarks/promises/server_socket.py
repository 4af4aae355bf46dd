"""Promise: the allocation server takes at least 5 M messages per second of its own CPU time.

Senders put 256 messages into each blocking send, so that the server is the limit: frees of random live allocations and
new ones in turn. The CPU time is that of the whole daemon, all threads, the kernel's share included. The baseline is
the old design's server, fed by the same senders in the same run. With one send per message, as the old client does it,
most of the server's time is the kernel's; that row has no target, and tells the server's CPU time per message.
"""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, daemon, message_sender, older_server
from benchmarks.stage.setting import Setting

BATCH = 256
MESSAGES = 1_000_000
OLD_MESSAGES = 100_000
TARGET = ">= 5"
LIVE_COUNTS = (1_000, 10_000, 100_000, 1_000_000)


def measure(setting: Setting) -> Iterator[Row]:
    for live_count in LIVE_COUNTS:
        yield _promised(setting, f"batches of {BATCH}, {live_count:,} live", live_count)
    yield _promised(setting, f"batches of {BATCH}, 8 senders x 1,000 live", 1_000, senders=8)
    small = _rate(setting, 1_000, BATCH, message_bytes=72)
    yield row(f"batches of {BATCH} of 72 bytes, 1,000 live", small / 1e6, "M/CPU-s", target=TARGET)
    logging = _rate(setting, 1_000, BATCH, options=("--log-events",))
    yield row(f"batches of {BATCH}, 1,000 live, events logged to a pipe nobody reads", 1e9 / logging, "ns CPU")
    ours, old = _rate(setting, 1_000, 1), _old_rate(setting, 1_000, 1, senders=1)
    yield row("one send per message, 1,000 live", 1e9 / ours, "ns CPU", baseline=1e9 / old)


def _promised(setting: Setting, words: str, live_count: int, *, senders: int = 1) -> Row:
    ours = _rate(setting, live_count, BATCH, senders=senders)
    old = _old_rate(setting, live_count, BATCH, senders=senders)
    return row(words, ours / 1e6, "M/CPU-s", target=TARGET, baseline=old / 1e6)


def _rate(
    setting: Setting,
    live_count: int,
    per_send: int,
    *,
    senders: int = 1,
    message_bytes: int = 144,
    options: tuple[str, ...] = (),
) -> float:
    with setting.fresh_directory() as own, daemon(own, *options) as (server, path), ExitStack() as sending:
        each = [
            sending.enter_context(message_sender(own, path, live_count, per_send=per_send, message_bytes=message_bytes))
            for _ in range(senders)
        ]
        return _median_rate(setting, server, each, MESSAGES)


def _old_rate(setting: Setting, live_count: int, per_send: int, *, senders: int) -> float:
    with setting.fresh_directory() as own, older_server(own) as (server, path), ExitStack() as sending:
        each = [sending.enter_context(message_sender(own, path, live_count, per_send=per_send)) for _ in range(senders)]
        return _median_rate(setting, server, each, OLD_MESSAGES)


def _median_rate(setting: Setting, server: Actor, senders: list[Actor], messages: int) -> float:
    """Messages per CPU-second of the server, the median of several rounds; the first warms up."""
    each = messages // len(senders)
    rates = []
    for _ in range(setting.repeats(9, 2)):
        began = server.cpu_seconds()
        for sender in senders:
            sender.tell(f"send {each}")
        for sender in senders:
            sender.hear()
        rates.append(each * len(senders) / (server.cpu_seconds() - began))
    return statistics.median(rates[1:])
