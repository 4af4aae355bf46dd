"""One number, asked of several judges: the socket, the ledger's rows, `ttmem ps`, `/snapshot`, and the model.

All of them are brought into one shape, so that a test can say `assert every judge agrees`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.server.server_bytes import COUNTERS
from tests.support.server.server_model import Place, ServerModel
from ttmem.devices import Kind, Pool

Document = dict[str, Any]
KERNEL_POOLS = ("kernel", "eth", "dispatch")
KERNEL_WORDS = {kind: kind.kernel_word for kind in Kind if kind.is_kernel}


@dataclass(frozen=True)
class Figures:
    """Bytes and counts by device and pool, kernels also by type; nothing that is zero."""

    used: Counter[Place]
    counts: Counter[Place]
    kernels: dict[Place, tuple[int, int]]

    def replies(self) -> Counter[Place]:
        """What of it QUERY can tell."""
        return Counter({place: used for place, used in self.used.items() if _is_told(place)})


def _is_told(place: Place) -> bool:
    return place[1] in COUNTERS and place[0].startswith("server:")


def of_model(model: ServerModel) -> Figures:
    return Figures(model.used(), model.counts(), model.kernels())


def of_rows(rows: Document, keys: Sequence[int] | None = None) -> Figures:
    """The figures of `_native.testing.flat_rows`: of all devices, or what the processes with these keys hold."""
    names = {row["number"]: device_name(row["name"], row["index"]) for row in rows["devices"]}
    if keys is None:
        pools = [(names[row[0]], *row[1:2], row[2], row[4]) for row in rows["device_pools"]]
        kinds = [(names[row[0]], row[1], row[2], row[3]) for row in rows["device_kinds"]]
    else:
        pools = [(names[row[1]], row[2], row[3], row[5]) for row in rows["process_pools"] if row[0] in keys]
        kinds = [(names[row[1]], row[2], row[3], row[4]) for row in rows["process_kinds"] if row[0] in keys]
    return _collected(
        ((device, Pool.numbered(pool).word, used, count) for device, pool, used, count in pools),
        (
            (device, KERNEL_WORDS[Kind.numbered(kind)], used, count)
            for device, kind, used, count in kinds
            if kind in KERNEL_WORDS
        ),
    )


def of_document(document: Document, pid: int | None = None) -> Figures:
    """The figures of `ttmem ps --json` and of GET /snapshot: of all devices, or what one process holds."""
    devices = document["device_info"] if pid is None else process_of(document, pid)["devices"]
    named = [(device_name(device["name"], device["index"]), device) for device in devices]
    return _collected(
        ((name, pool, row["used_bytes"], row["count"]) for name, one in named for pool, row in one["memory"].items()),
        (
            (name, word.removeprefix("kernel_"), row["used_bytes"], row["count"])
            for name, one in named
            for word, row in one["by_kind"].items()
            if word.startswith("kernel_")
        ),
    )


def of_dump(document: Document) -> Figures:
    """The figures of GET /dump; the single allocations it lists must add up to its totals where none is left out."""
    pools, kinds = [], []
    for device in document["devices"]:
        name = device_name(device["device"]["name"], device["device"]["index"])
        for group in device["groups"]:
            used, count = group["used_bytes"], group["count"]
            if not group["more_count"]:
                assert sum(one["size_bytes"] for one in group["allocations"]) == used, group["type"]
                assert len(group["allocations"]) == count
            pools.append((name, "kernel" if group["is_kernel"] else group["type"], used, count))
            if group["is_kernel"]:
                kinds.append((name, group["type"], used, count))
    return _collected(pools, kinds)


def process_of(document: Document, pid: int) -> Document:
    [found] = [process for process in document["processes"] if process["pid"] == pid and process["state"] != "ended"]
    return dict(found)


def device_name(name: str | None, index: int | None) -> str:
    """`server:N` for a device with a number, whether a journal described it or not."""
    return name if name else f"server:{index}"


def _collected(pools: Iterable[tuple[str, str, int, int]], kinds: Iterable[tuple[str, str, int, int]]) -> Figures:
    used: Counter[Place] = Counter()
    counts: Counter[Place] = Counter()
    for device, pool, size, count in pools:
        place = (device, "kernel" if pool in KERNEL_POOLS else pool)
        used[place] += size
        counts[place] += count
    kernels = {(device, word): (size, count) for device, word, size, count in kinds if size or count}
    return Figures(+used, +counts, kernels)
