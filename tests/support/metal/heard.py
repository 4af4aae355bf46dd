"""A tracker that writes down everything it hears, in short."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ttmem.devices import BinaryStatus, Kind
from ttmem.tracking import (
    Cache,
    CacheOutcome,
    CoreSet,
    CoreType,
    KernelFacts,
    KernelType,
    Refusal,
    Stall,
    TrackedBuffer,
    TrackedDevice,
    Tracker,
)


@dataclass(frozen=True)
class Call:
    """One call: its name, the device it was about, and the rest by name."""

    name: str
    device: TrackedDevice
    said: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.said[name]
        except KeyError:
            raise AttributeError(name) from None


class Heard(Tracker):
    """All calls in order."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def of(self, *names: str) -> list[Call]:
        """The calls of these names."""
        return [call for call in self.calls if call.name in names]

    @property
    def names(self) -> list[str]:
        return [call.name for call in self.calls]

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.names)

    def forget(self) -> None:
        self.calls.clear()

    def _note(self, call: str, device: TrackedDevice, **said: Any) -> None:
        self.calls.append(Call(call, device, said))

    def track_allocate(self, buffer: TrackedBuffer) -> None:
        self._note("allocate", buffer.device, buffer=buffer, program=buffer.program, reserved=buffer.reserved_bytes)

    def track_deallocate(self, buffer: TrackedBuffer) -> None:
        self._note("deallocate", buffer.device, buffer=buffer, program=buffer.program)

    def track_allocate_cb(
        self,
        core_ranges: CoreSet,
        address: int,
        size_bytes: int,
        is_globally_allocated: bool,
        device: TrackedDevice,
        *,
        program: int = 0,
        cb_id: int = 0,
        kind: Kind = Kind.CIRCULAR_BUFFER,
    ) -> None:
        said = {"cores": str(core_ranges), "address": address, "size": size_bytes, "is_global": is_globally_allocated}
        self._note("cb", device, **said, program=program, cb_id=cb_id, kind=kind)

    def track_deallocate_cb(self, device: TrackedDevice, *, program: int = 0) -> None:
        self._note("cb_end", device, program=program)

    def track_kernel_load(
        self,
        kernel_size: int,
        kernel_id: int,
        device: TrackedDevice,
        kernel_type: int = KernelType.APPLICATION,
        num_cores: int = 1,
        *,
        facts: KernelFacts | None = None,
    ) -> None:
        said = {"size": kernel_size, "id": kernel_id, "type": KernelType(kernel_type), "cores": num_cores}
        self._note("kernel", device, **said, facts=facts)

    def track_kernel_unload(self, kernel_id: int, device: TrackedDevice) -> None:
        self._note("kernel_end", device, id=kernel_id)

    def track_program(self, program: int, device: TrackedDevice) -> None:
        self._note("program", device, program=program)


class HeardAll(Heard):
    """One that hears launches, rings and caches, too."""

    def track_device_opened(self, device: TrackedDevice) -> None:
        self._note("opened", device)

    def track_device_closed(self, device: TrackedDevice) -> None:
        self._note("closed", device)

    def track_binary_status(self, program: int, status: BinaryStatus, device: TrackedDevice) -> None:
        self._note("status", device, program=program, status=status)

    def track_program_end(self, program: int, device: TrackedDevice) -> None:
        self._note("program_end", device, program=program)

    def track_launch(self, program: int, device: TrackedDevice) -> None:
        self._note("launch", device, program=program)

    def track_ring(
        self,
        device: TrackedDevice,
        core_type: CoreType,
        *,
        live_bytes: int,
        retired_bytes: int,
        entry_count: int,
        stall: Stall = Stall.NONE,
        ring_bytes: int = 0,
        has_launched: bool = True,
    ) -> None:
        said = {"live": live_bytes, "retired": retired_bytes, "entries": entry_count, "stall": stall}
        self._note("ring", device, core_type=core_type, **said)

    def track_cache(
        self,
        device: TrackedDevice,
        cache: Cache,
        outcome: CacheOutcome,
        *,
        size_bytes: int = 0,
        entry_count: int = 0,
        held_bytes: int = 0,
    ) -> None:
        said = {"size": size_bytes, "entries": entry_count, "held": held_bytes}
        self._note("cache", device, cache=cache, outcome=outcome, **said)

    def track_incident(self, device: TrackedDevice, refusal: Refusal) -> None:
        self._note("incident", device, **refusal._asdict())
