"""What the allocation server should say, worked out a second time with nothing but dicts.

The rules, from the documents: the key is (process, device, what, id). A second ALLOC or CB_ALLOC of a live key with the
same size and type counts a holder, and a free takes one away; with another size or type it replaces, which is a
finding. A KERNEL_LOAD of a live id sets its size (a smaller one is a finding); with another type it replaces. A free
names an id; the size it may name never counts. Freeing what is not there changes nothing. A process that is gone holds
nothing. Host memory is on no device, and no reply shows it.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from tests.support.server.server_bytes import COUNTERS, QUESTIONS, Message, Type

SIZE_MOST = 1 << 42
POOLS = {0: "dram", 1: "l1", 2: "host", 3: "l1_small", 4: "trace"}
KERNELS = {0: "application", 1: "fabric", 2: "dispatch"}
UNKNOWN = "unknown:0"
DEVICES_MOST = 65_535

Place = tuple[str, str]  # a device and a pool, or a device and a kernel type
Key = tuple[Hashable, int, str, int]


@dataclass
class Held:
    """One live allocation."""

    device: str
    pool: str
    kernel: str
    size: int
    kind: int
    holders: int = 1


class ServerModel:
    """Everything that clients said, as far as it still counts."""

    def __init__(self) -> None:
        self.held: dict[Key, Held] = {}
        self.findings: Counter[str] = Counter()
        self._devices: dict[Hashable, set[int]] = {}

    def apply(self, process: Hashable, message: Message) -> None:
        """One message of a process; a question changes nothing."""
        if message.type in (Type.ALLOC, Type.CB_ALLOC):
            self._allocate(process, message)
        elif message.type == Type.KERNEL_LOAD:
            self._load(process, message)
        elif message.type in (Type.FREE, Type.CB_FREE, Type.KERNEL_UNLOAD):
            self._free(process, message)

    def apply_all(self, process: Hashable, messages: Iterable[Message]) -> "ServerModel":
        for message in messages:
            self.apply(process, message)
        return self

    def end(self, process: Hashable) -> None:
        """The process is gone."""
        self.held = {key: one for key, one in self.held.items() if key[0] != process}

    def used(self) -> Counter[Place]:
        """Bytes by device and pool; kernels of all types are in the pool `kernel`, host memory is in `host`."""
        sums: Counter[Place] = Counter()
        for one in self.held.values():
            sums[one.device, one.pool] += one.size
        return +sums

    def counts(self) -> Counter[Place]:
        """How many allocations are alive."""
        return Counter((one.device, one.pool) for one in self.held.values())

    def kernels(self) -> dict[Place, tuple[int, int]]:
        """Bytes and count by device and kernel type."""
        sums: dict[Place, tuple[int, int]] = {}
        for one in self.held.values():
            if one.kernel:
                size, count = sums.get((one.device, one.kernel), (0, 0))
                sums[one.device, one.kernel] = (size + one.size, count + 1)
        return sums

    def of(self, process: Hashable) -> "ServerModel":
        """The same, with one process only."""
        own = ServerModel()
        own.held = {key: one for key, one in self.held.items() if key[0] == process}
        return own

    def counters(self, device: int) -> dict[str, int]:
        """What a QUERY must answer."""
        used = self.used()
        return {pool: used[f"server:{device}", pool] for pool in COUNTERS}

    def _device(self, process: Hashable, device: int) -> str:
        known = self._devices.setdefault(process, set())
        if device < 0 or (device not in known and len(known) >= DEVICES_MOST):
            return UNKNOWN
        known.add(device)
        return f"server:{device}"

    def _allocate(self, process: Hashable, message: Message) -> None:
        what = "buffer" if message.type == Type.ALLOC else "cb"
        kind = message.kind if what == "buffer" else 0
        size = self._clamped(message.size)
        held = self.held.get((process, message.device, what, message.id))
        if held and (held.size, held.kind) == (size, kind):
            held.holders += 1
            return
        self.findings["replaced"] += held is not None
        self.findings["unknown_type"] += what == "buffer" and kind not in POOLS
        pool = POOLS.get(kind, "unknown") if what == "buffer" else "cb"
        device = self._device(process, message.device)
        self.held[process, message.device, what, message.id] = Held(device, pool, "", size, kind)

    def _load(self, process: Hashable, message: Message) -> None:
        held = self.held.get((process, message.device, "kernel", message.id))
        size = self._clamped(message.size)
        type_name = KERNELS.get(message.kind, "unknown")
        is_same = held is not None and held.kernel == type_name
        self.findings["shrunk_kernel"] += held is not None and is_same and size < held.size
        self.findings["replaced"] += held is not None and not is_same
        device = self._device(process, message.device)
        key = (process, message.device, "kernel", message.id)
        self.held[key] = Held(device, "kernel", type_name, size, message.kind)

    def _free(self, process: Hashable, message: Message) -> None:
        what = {Type.FREE: "buffer", Type.CB_FREE: "cb", Type.KERNEL_UNLOAD: "kernel"}[Type(message.type)]
        key = (process, message.device, what, message.id)
        held = self.held.get(key)
        if held is None:
            self.findings["unknown_free"] += 1
            return
        if what != "buffer" and message.size not in (0, held.size):
            self.findings["free_size"] += 1
        held.holders -= 1
        if held.holders == 0:
            del self.held[key]

    def _clamped(self, size: int) -> int:
        self.findings["clamped"] += size > SIZE_MOST
        return min(size, SIZE_MOST)


def answers(messages: Iterable[Message]) -> int:
    """How many replies these messages ask for."""
    return sum(message.type in QUESTIONS for message in messages)
